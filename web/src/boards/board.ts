// A board: draws positions and tells which action a person chose.

import type { ActionInfo, ChessBoard, GridBoard, MoveRow, PictureBoard } from "../protocol";
import { ChessView } from "./chess";
import { GridView } from "./grid";
import { PictureView } from "./picture";

export type AnyBoard = ChessBoard | GridBoard | PictureBoard;

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
  mark(moves: readonly MoveRow[]): void;
  flip(): void;
}

export function boardView(kind: AnyBoard["kind"], play: (action: number) => void): BoardView {
  if (kind === "chess") return new ChessView(play);
  return kind === "grid" ? new GridView(play) : new PictureView(play);
}
