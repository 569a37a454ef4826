// A board: draws positions and tells which action a person chose.

import type { Row } from "../moves";
import type { ActionInfo, Position } from "../protocol";
import { BlobView } from "./blob";
import { ChessView } from "./chess";
import { GridView } from "./grid";
import { PictureView } from "./picture";

export type AnyBoard = Position["board"];

export interface Shown {
  board: AnyBoard;
  actions: ActionInfo[];
  /** Whether a person may move: not while a line is only looked at. */
  playable: boolean;
}

export interface BoardView {
  readonly root: HTMLElement;
  show(shown: Shown): void;
  /** Mark the best moves. */
  mark(moves: readonly Row[]): void;
  flip(): void;
}

export function boardView(kind: AnyBoard["kind"], play: (action: number) => void): BoardView {
  if (kind === "chess") return new ChessView(play);
  if (kind === "blob") return new BlobView(play);
  return kind === "grid" ? new GridView(play) : new PictureView(play);
}

/** Actions in words: a lone digit says nothing, `column 4` does. */
export function actionWords(board: AnyBoard, labels: readonly string[], between = " "): string {
  const text = labels.join(between);
  if (board.kind !== "grid" || !labels.length) return text;
  return `${board.drop ? "column" : "cell"}${labels.length > 1 ? "s" : ""} ${text}`;
}
