// The websocket: reconnects by itself, and tells the page what it hears.

import type { Message, Request } from "./protocol";

export type State = "connecting" | "open" | "lost" | "refused";

export class Connection {
  private socket: WebSocket | null = null;
  private pause = 500;

  constructor(
    private readonly heard: (message: Message) => void,
    private readonly changed: (state: State) => void,
  ) {
    this.connect();
  }

  send(request: Request): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(request));
  }

  /** Connect again after the server has refused. */
  retry(): void {
    this.connect();
  }

  /** Leave for good. */
  close(): void {
    const { socket } = this;
    this.socket = null;
    socket?.close();
  }

  private connect(): void {
    this.changed("connecting");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/socket`);
    this.socket = socket;
    socket.onopen = () => {
      this.pause = 500;
      this.changed("open");
    };
    socket.onmessage = (event) => {
      const message = JSON.parse(String(event.data)) as Message;
      if (message.type === "search") this.send({ type: "ack", serial: message.serial });
      this.heard(message);
    };
    socket.onclose = (event) => {
      if (socket !== this.socket) return; // left
      if (event.code === 1013) {
        this.changed("refused"); // the server has as many pages as it can
        return;
      }
      this.changed("lost");
      setTimeout(() => socket === this.socket && this.connect(), this.pause);
      this.pause = Math.min(2 * this.pause, 5000);
    };
  }
}
