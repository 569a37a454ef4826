// Made from python/sylvan/web/protocol.py by `python -m sylvan.web.typescript`: do not edit.

/** The page has shown a `search` message. */
export interface Ack {
  type: "ack";
  serial: number;
}

/** Make a move in the game. */
export interface Act {
  type: "act";
  action: number;
}

/** Begin to note what happens at a real table of Blob. */
export interface Advise {
  type: "advise";
  seat?: number;
  players?: number;
  cards?: number;
  trump?: string;
  saved?: string | null;
}

/** Ask what the networks of a run thought of a position, and follow it. */
export interface AskOpinion {
  type: "ask_opinion";
  run: string;
  text?: string;
}

/** The time of each seat. */
export interface ClockChoice {
  minutes: number;
  increment?: number;
}

/** Search with another evaluator or other settings; this drops the tree. */
export interface Configure {
  type: "configure";
  evaluator: string;
  settings: Record<string, boolean | number | string | null>;
}

/** Let the best network of a run act in its environment, and show the pictures. */
export interface Film {
  type: "film";
  run: string;
  seed?: number;
}

/** List the runs and follow the curves of some; none: list them only. */
export interface Follow {
  type: "follow";
  runs?: string[];
  show?: boolean;
}

/** Ask what a learned model foresees from a position of a game, beside what happened. */
export interface Foresee {
  type: "foresee";
  run: string;
  number: number | null;
  ply: number;
}

/** Go to a place in the game. */
export interface Goto {
  type: "goto";
  ply: number;
}

/** Ask what to do. */
export interface Hint {
  type: "hint";
}

/** Take a free seat at a table, or come back to one's own. */
export interface Join {
  type: "join";
  code: string;
  token?: string | null;
}

/** Ask for a page of the self-play games of a run, the newest first. */
export interface ListGames {
  type: "list_games";
  run: string;
  page?: number;
}

/** Ask which games can be played, and with which networks. */
export interface ListOffers {
  type: "list_offers";
}

/** Show an analysis from a file. */
export interface Load {
  type: "load";
  name: string;
  data: string;
}

/** Ask for the position after a path, or with `details` for everything known of its node. */
export interface Look {
  type: "look";
  path: number[];
  details?: boolean;
}

/** Make a move; the part of the tree behind it stays. */
export interface Move {
  type: "move";
  action: number;
}

/** Note what happened, in the words of `sylvan advise`. */
export interface Note {
  type: "note";
  what: "hand" | "turned_up" | "trump" | "points" | "entry" | "correct" | "round" | "next" | "undo";
  text?: string;
}

/** Offer a draw, or agree to one. */
export interface OfferDraw {
  type: "offer_draw";
}

/** Show a position and drop the tree of the last one. */
export interface Open {
  type: "open";
  game: string;
  text?: string;
  moves?: number[];
  ply?: number | null;
}

/** End the process of a run, which can be resumed. */
export interface PauseRun {
  type: "pause_run";
  run: string;
}

/** Ask for a game of the list, position by position. */
export interface Replay {
  type: "replay";
  run: string;
  number: number;
}

/** Drop the tree. */
export interface Restart {
  type: "restart";
}

/** Go on with a run. */
export interface ResumeRun {
  type: "resume_run";
  run: string;
}

/** The person of this seat now looks at the page: show its hand. */
export interface Reveal {
  type: "reveal";
  seat: number;
}

/** Ask which moves so far were mistakes. */
export interface Review {
  type: "review";
}

/** Search. */
export interface Run {
  type: "run";
  simulations?: number | null;
}

/** Ask for the analysis as a file. */
export interface Save {
  type: "save";
}

/** The player of a seat. */
export interface SeatChoice {
  who: "you" | "guest" | "player";
  level?: number;
  network?: string | null;
}

/** How much of the tree to send. */
export interface Show {
  type: "show";
  nodes: number;
  opened?: number[][];
}

/** Start a game at a new table. */
export interface Sit {
  type: "sit";
  game: string;
  seats: SeatChoice[];
  cards?: number | null;
  clock?: ClockChoice | null;
  teach?: boolean;
  seed?: number | null;
}

/** Make one simulation and report each of its steps. */
export interface Slow {
  type: "slow";
}

/** Start a new run, with the settings that Sylvan chooses for the game and this machine. */
export interface StartRun {
  type: "start_run";
  name: string;
  game: string;
  minutes?: number;
  learn_rules?: boolean;
}

/** Stop searching. */
export interface Stop {
  type: "stop";
}

/** Ask for what the review has found so far. */
export interface StopReview {
  type: "stop_review";
}

/** Search every position of the game for the graph of its values. */
export interface Sweep {
  type: "sweep";
  simulations: number;
}

/** Take one's last move back, and everything after it; or agree that another does. */
export interface TakeBack {
  type: "take_back";
}

export type Request = Open | Move | Goto | Run | Slow | Stop | Restart | Sweep | Configure | Show | Look | Save | Load | ListOffers | Sit | Join | Reveal | Act | TakeBack | Hint | Review | StopReview | OfferDraw | Advise | Note | Follow | ListGames | Replay | AskOpinion | PauseRun | ResumeRun | StartRun | Film | Foresee | Ack;

/** An action by its code and its name. */
export interface ActionInfo {
  action: number;
  label: string;
}

/** A seat's view of a table of Blob. */
export interface BlobBoard {
  kind: "blob";
  round: number;
  rounds: number;
  cards: number;
  trump: string | null;
  turned_up: string | null;
  dealer: number;
  you: number | null;
  to_play: number | null;
  bidding: boolean;
  seats: BlobSeat[];
  hand: CardInfo[];
  trick: CardInfo[];
}

/** The public state of a player. */
export interface BlobSeat {
  cards: number;
  bid: number | null;
  tricks: number;
  points: number;
  voids: string;
}

/** A card that may be seen. */
export interface CardInfo {
  name: string;
  seat: number;
  action: number | null;
}

/** A position of chess. */
export interface ChessBoard {
  kind: "chess";
  fen: string;
  turn: "white" | "black";
  check: boolean;
  last: string[];
  moves: Record<string, number>;
}

/** An edge that selection looked at. */
export interface Considered {
  action: number;
  label: string;
  N: number;
  Q: number | null;
  P: number;
  U: number | null;
  urgency: number | null;
}

/** New points of a run's curves. */
export interface Curves {
  type: "curves";
  run: string;
  fresh: boolean;
  steps: number[];
  figures: Record<string, (number | null)[]>;
}

/** A node: its statistics, and what the evaluator alone says of it. */
export interface Details {
  N: number;
  values: number[] | null;
  kind: string;
  seat: number | null;
  edges: Considered[];
  raw_values: number[] | null;
  raw_priors: Considered[];
}

/** A learned model's predictions from a position, beside the true course. */
export interface Foreseen {
  type: "foreseen";
  run: string;
  number: number | null;
  ply: number;
  steps: ForeseenStep[];
}

/** A prediction some steps ahead, beside what happened. */
export interface ForeseenStep {
  label: string | null;
  reward: number | null;
  real_reward: number | null;
  value: number | null;
  real_value: number | null;
  policy: Considered[];
  real: string | null;
  legal: number | null;
}

/** A game of self-play, for the list. */
export interface GameInfo {
  number: number;
  step: number;
  plies: number;
  returns: number[];
  ending: string;
}

/** A game that can be played. */
export interface GameOffer {
  game: string;
  seats: string[];
  networks: string[];
}

/** A page of the games of a run, the newest first. */
export interface Games {
  type: "games";
  run: string;
  page: number;
  is_last: boolean;
  games: GameInfo[];
}

/** A position on a grid of stones. */
export interface GridBoard {
  kind: "grid";
  columns: number;
  rows: number;
  cells: string;
  drop: boolean;
  last: number | null;
}

/** The first message. */
export interface Hello {
  type: "hello";
  version: string;
  games: string[];
  evaluators: string[];
  settings: SettingInfo[];
  start: string;
}

/** The adviser's moves, best first. */
export interface Hinted {
  type: "hinted";
  options: Option[];
}

/** A decision of a person. */
export interface Judged {
  ply: number;
  label: string;
  best: string;
  loss: number;
  mark: string;
  options: Option[];
}

/** The position after a path. */
export interface Looked {
  type: "looked";
  path: number[];
  labels: string[];
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  details: Details | null;
}

/** A legal action at the root; statistics as in `SearchResult`, best first. */
export interface MoveRow {
  action: number;
  label: string;
  rank: number;
  N: number;
  share: number;
  Q: number | null;
  P: number;
  wdl: number[] | null;
  score: string | null;
  proven: number | null;
  line: number[];
  labels: string[];
}

/** New statistics of nodes that the page has, a list per field of `NodeRow`. */
export interface NodeColumns {
  id: number[];
  N: number[];
  Q: (number | null)[];
  value: (number | null)[];
  P: (number | null)[];
  kind: ("decision" | "chance" | "terminal" | "leaf")[];
  proven: boolean[];
  seat: (number | null)[];
  unsent: number[];
}

/** A node of the tree. */
export interface NodeRow {
  id: number;
  parent: number | null;
  action: number | null;
  label: string;
  N: number;
  Q: number | null;
  value: number | null;
  P: number | null;
  kind: "decision" | "chance" | "terminal" | "leaf";
  proven: boolean;
  seat: number | null;
  unsent: number;
}

/** A real table, as far as it is noted. */
export interface Notes {
  type: "notes";
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  you: number;
  wanted: "turned_up" | "hand" | "bid" | "card" | "next" | "nothing";
  prompt: string;
  actions: ActionInfo[];
  entries: PlyInfo[];
  advice: Option[] | null;
  saved: string;
}

/** The games that can be played. */
export interface Offers {
  type: "offers";
  games: GameOffer[];
}

/** A network's output for a position, without a search. */
export interface Opinion {
  step: number;
  value: number | null;
  policy: Considered[];
}

/** The outputs of all networks of a run for a position. */
export interface Opinions {
  type: "opinions";
  run: string;
  text: string;
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  seat: number;
  steps: Opinion[];
}

/** An action that a hint judges. */
export interface Option {
  action: number;
  label: string;
  value: number;
  made: number | null;
}

/** A position of any other game. */
export interface PictureBoard {
  kind: "picture";
  svg: string | null;
  text: string;
  image: string | null;
}

/** An action of the game, and the value after it if that position was searched. */
export interface PlyInfo {
  action: number;
  label: string;
  seat: number | null;
}

/** The game and where in it the page is. */
export interface Position {
  type: "position";
  game: string;
  start: string;
  plies: PlyInfo[];
  ply: number;
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  actions: ActionInfo[];
  seat: number | null;
  seats: string[];
  value_range: number[] | null;
  over: string | null;
  evaluator: string;
  settings: Record<string, boolean | number | string | null>;
}

/** A request that could not be done, and why. */
export interface Problem {
  type: "problem";
  sentence: string;
}

/** A position of a game, and what the search thought of it. */
export interface ReplayPly {
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  label: string | null;
  seat: number | null;
  values: number[] | null;
  policy: Considered[];
  reward: number | null;
}

/** A game of self-play. */
export interface Replayed {
  type: "replayed";
  run: string;
  info: GameInfo;
  plies: ReplayPly[];
  is_film: boolean;
  is_learned: boolean;
}

/** The decisions so far of the people at this page. */
export interface Reviewed {
  type: "reviewed";
  decisions: Judged[];
}

/** A review is under way. */
export interface Reviewing {
  type: "reviewing";
  left: number;
}

/** A run, for the list. */
export interface RunInfo {
  name: string;
  game: string;
  state: string;
  step: number;
  progress: number;
  best: number | null;
  limit: string | null;
  algorithm: string;
  is_environment: boolean;
  is_own: boolean;
  problem: string | null;
}

/** The runs in the folders that the server was given. */
export interface Runs {
  type: "runs";
  runs: RunInfo[];
  trainable: string[];
}

/** An analysis as a file. */
export interface Saved {
  type: "saved";
  name: string;
  data: string;
}

/** The state of the search: rows that changed since the last message. */
export interface Search {
  type: "search";
  serial: number;
  fresh: boolean;
  running: boolean;
  ended: string | null;
  evaluator: string;
  seat: number | null;
  graph: (number | null)[];
  simulations: number;
  per_second: number;
  nodes: number;
  bytes: number;
  depth: number;
  value: number | null;
  values: number[] | null;
  wdl: number[] | null;
  proven: boolean;
  best: number | null;
  pv: number[];
  moves: MoveRow[];
  nodes_new: NodeRow[];
  nodes_changed: NodeColumns;
  nodes_gone: number[];
}

/** The player of a seat. */
export interface SeatInfo {
  name: string;
  who: "you" | "person" | "free" | "player";
  player: string;
  away: boolean;
  clock: number | null;
}

/** A setting of the search, for the panel. */
export interface SettingInfo {
  name: string;
  help: string;
  kind: "switch" | "choice" | "number" | "whole";
  choices: string[];
  optional: boolean;
  default: boolean | number | string | null;
}

/** One simulation, step by step. */
export interface Simulation {
  type: "simulation";
  number: number;
  steps: StepInfo[];
  kind: "expanded" | "terminal" | "known";
  values: number[];
  seat: number | null;
  priors: Considered[];
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  path: number[];
}

/** One choice of a simulation, with the statistics from before it. */
export interface StepInfo {
  action: number;
  label: string;
  seat: number | null;
  edges: Considered[];
  Q_after: number | null;
}

/** A game, as the seat at this page sees it. */
export interface Table {
  type: "table";
  code: string;
  token: string;
  game: string;
  board: ChessBoard | GridBoard | PictureBoard | BlobBoard;
  actions: ActionInfo[];
  seat: number | null;
  curtain: number | null;
  to_play: number | null;
  seats: SeatInfo[];
  ticking: boolean;
  said: PlyInfo[];
  asked: string[];
  can_draw: boolean;
  draw_offered: string[];
  over: string | null;
}

export type Message = Hello | Position | Search | Simulation | Looked | Offers | Table | Hinted | Reviewing | Reviewed | Notes | Runs | Curves | Games | Replayed | Saved | Opinions | Foreseen | Problem;
