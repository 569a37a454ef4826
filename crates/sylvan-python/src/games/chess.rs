//! `sylvan._native.Chess`, and the expansion of its observations.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use numpy::{PyArray1, PyArray4, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString};
use sylvan_core::{Action, Evaluator, Game, Turn};
use sylvan_games::chess::{
    Chess, ChessError, Codec, Encoder, Encoding, HistoryFill, Material, Mates, Options, Outcome,
    Tables, expand,
};

use super::{listed, not_a_code};
use crate::bridge::{Bridge, object_of};

pyo3::import_exception!(sylvan.errors, ConfigError);
pyo3::import_exception!(sylvan.errors, GameOver);
pyo3::import_exception!(sylvan.errors, IllegalAction);
pyo3::import_exception!(sylvan.errors, IllegalPosition);

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A start position and the actions played from it, to rebuild a game.
type Arguments = (String, Vec<Action>);

/// A game and its moves; the search needs only `state`.
#[pyclass(subclass, name = "Chess", module = "sylvan._native")]
#[derive(Clone)]
pub struct PyChess {
    pub state: Chess,
    /// The FEN of the first position.
    start: Arc<str>,
    /// The moves from `start`.
    moves: Vec<Action>,
}

impl PyChess {
    fn from_fen(fen: &str, options: Options) -> PyResult<Self> {
        let state = Chess::from_fen(fen, options).map_err(raise)?;
        let (start, moves) = (fen.trim().into(), Vec::new());
        Ok(Self {
            state,
            start,
            moves,
        })
    }

    /// Plays a legal move.
    fn play(&mut self, action: Action) -> Result<(), ChessError> {
        self.state.play(action)?;
        self.moves.push(action);
        Ok(())
    }

    /// A move from Python: a code, text, or an object whose text is UCI.
    fn read(&self, item: &Bound<'_, PyAny>) -> PyResult<Action> {
        if item.is_instance_of::<PyInt>() || item.hasattr("__index__")? {
            return code(item);
        }
        let text = if item.is_instance_of::<PyString>() || item.hasattr("uci")? {
            item.str()?.to_cow()?.into_owned()
        } else {
            let message = format!("{} is not a move: give a code, UCI or SAN", item.repr()?);
            return Err(IllegalAction::new_err(message));
        };
        self.state.parse(&text).map_err(raise)
    }

    fn unfinished(&self) -> PyResult<()> {
        match self.state.outcome() {
            Some(outcome) => {
                let fen = self.state.fen();
                Err(raise(ChessError::Over { outcome, fen }))
            }
            None => Ok(()),
        }
    }

    fn illegal(&self, action: Action) -> PyErr {
        raise(self.state.illegal_action(action))
    }
}

#[pymethods]
impl PyChess {
    #[new]
    #[pyo3(signature = (
        fen=None, moves=None, *, chess960=false, repetitions=3, history_fill="fen_only",
        encoder="lc0_112", codec="az73", syzygy=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
    fn new(
        fen: Option<&Bound<'_, PyAny>>,
        moves: Option<&Bound<'_, PyAny>>,
        chess960: bool,
        repetitions: u32,
        history_fill: &str,
        encoder: &str,
        codec: &str,
        syzygy: Option<PathBuf>,
    ) -> PyResult<Self> {
        let options = Options {
            chess960,
            repetitions,
            encoding: encoding(encoder, codec, history_fill)?,
            tables: syzygy.as_deref().map(tables).transpose()?,
        };
        let mut game = match fen {
            None => Self::from_fen(START, options)?,
            Some(fen) => Self::from_fen(&text_of_fen(fen)?, options)?,
        };
        let Some(moves) = moves else { return Ok(game) };
        let words = match moves.cast::<PyString>() {
            Ok(text) => text.call_method0("split")?,
            Err(_) => moves.clone(),
        };
        for item in listed(&words, "moves")? {
            let action = game.read(&item?)?;
            game.play(action).map_err(raise)?;
        }
        Ok(game)
    }

    fn legal_actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        let Ok(_) = self.state.turn(&mut actions);
        actions
    }

    fn apply(&mut self, action: &Bound<'_, PyAny>) -> PyResult<()> {
        self.unfinished()?;
        self.play(code(action)?).map_err(raise)
    }

    /// Plays a move in UCI or SAN, also if a draw could be claimed.
    fn push(&mut self, text: &Bound<'_, PyAny>) -> PyResult<()> {
        let action = self.read(text)?;
        self.play(action).map_err(raise)
    }

    fn clone<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        object_of(&slf.get_type(), Clone::clone(&*slf.borrow()))
    }

    fn to_play(&self) -> u8 {
        self.state.seat()
    }

    fn is_terminal(&self) -> bool {
        let Ok(turn) = self.state.turn(&mut Vec::new());
        turn == Turn::Over
    }

    fn returns(&self) -> (f64, f64) {
        let mut out = [0.0; 2];
        let Ok(()) = self.state.returns(&mut out);
        out.into()
    }

    /// uint64 of shape (planes,); `expand_planes` converts it to floats.
    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let mut planes = vec![0; self.state.encoding().encoder.num_planes()];
        let Ok(()) = self.state.observe(&mut planes);
        PyArray1::from_vec(py, planes)
    }

    /// The position's Zobrist key and a hash of position and relevant history, 16 bytes.
    fn key<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let key = self.zobrist().to_le_bytes();
        PyBytes::new(py, &[key, self.state.full_key().to_le_bytes()].concat())
    }

    /// Position and plies since the last capture or pawn move, 8 bytes; `ply` is not used.
    #[allow(unused_variables, reason = "the name is Python's keyword")]
    fn position_key<'py>(&self, py: Python<'py>, ply: u64) -> Bound<'py, PyBytes> {
        let Ok(key) = self.state.position_key(ply);
        PyBytes::new(py, &key.unwrap_or_default().to_le_bytes())
    }

    /// Whether this line of a search repeats one of its positions, and that is a draw.
    fn is_repetition(&self) -> bool {
        self.state.is_repetition()
    }

    /// Whether a legal move is a capture, a promotion or a check.
    fn is_forcing(&self, action: Action) -> bool {
        self.state.is_forcing(action)
    }

    /// The position's Zobrist key: equal for equal positions, regardless of their history.
    #[getter]
    fn zobrist(&self) -> u64 {
        let Ok(key) = self.state.key();
        key
    }

    /// Marks the root of a search, without using endgame tables.
    fn set_root(&mut self) {
        self.state.mark_root();
    }

    /// A copy restricted to these moves until one is played; None removes the restriction.
    fn restricted<'py>(
        slf: &Bound<'py, Self>,
        moves: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut game = Clone::clone(&*slf.borrow());
        let moves = match moves {
            None => None,
            Some(moves) => {
                let items = moves.try_iter()?.map(|item| game.read(&item?));
                let read = items.collect::<PyResult<Vec<Action>>>()?;
                if read.is_empty() {
                    let message = "moves is empty: give one or more, or None";
                    return Err(IllegalAction::new_err(message));
                }
                Some(read)
            }
        };
        game.state = game.state.restricted(moves.as_deref()).map_err(raise)?;
        object_of(&slf.get_type(), game)
    }

    /// The folder of endgame tables, or None.
    #[getter]
    fn syzygy(&self) -> Option<&'static str> {
        self.state.options().tables.map(Tables::path)
    }

    /// The number of positions found in the tables, by all games that share them.
    #[getter]
    fn table_hits(&self) -> u64 {
        self.state.options().tables.map_or(0, Tables::hits)
    }

    /// (wdl, dtz) of the position for the mover, or None if it is in no table.
    fn probe(&self) -> Option<(i8, Option<i32>)> {
        self.state.probe().map(|found| (found.wdl, found.dtz))
    }

    fn action_to_string(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let action = code(action)?;
        self.state.uci(action).ok_or_else(|| self.illegal(action))
    }

    fn string_to_action(&self, text: &str) -> PyResult<Action> {
        self.state.parse(text).map_err(raise)
    }

    fn san(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let action = code(action)?;
        self.state.san(action).ok_or_else(|| self.illegal(action))
    }

    fn fen(&self) -> String {
        self.state.fen()
    }

    #[getter]
    fn start_fen(&self) -> &str {
        &self.start
    }

    /// The moves from `start_fen`, in UCI.
    #[getter]
    fn moves(&self) -> PyResult<Vec<String>> {
        let mut game = Self::from_fen(&self.start, self.state.options())?.state;
        let mut texts = Vec::with_capacity(self.moves.len());
        for &action in &self.moves {
            texts.extend(game.uci(action));
            let Ok(()) = game.apply(action);
        }
        Ok(texts)
    }

    #[getter]
    fn chess960(&self) -> bool {
        self.state.options().chess960
    }

    #[getter]
    fn repetitions(&self) -> u32 {
        self.state.options().repetitions
    }

    #[getter]
    fn history_fill(&self) -> &'static str {
        name_of(&FILLS, self.state.encoding().history_fill)
    }

    #[getter]
    fn encoder(&self) -> &'static str {
        name_of(&ENCODERS, self.state.encoding().encoder)
    }

    #[getter]
    fn codec(&self) -> &'static str {
        name_of(&CODECS, self.state.encoding().codec)
    }

    /// A copy with another encoding.
    fn shown_as<'py>(
        slf: &Bound<'py, Self>,
        encoder: &str,
        codec: &str,
        history_fill: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let encoding = encoding(encoder, codec, history_fill)?;
        let mut game = Clone::clone(&*slf.borrow());
        game.state = game.state.encoded(encoding);
        object_of(&slf.get_type(), game)
    }

    /// The number of policy outputs in this game's codec.
    #[getter]
    fn num_logits(&self) -> usize {
        self.state.encoding().codec.num_logits()
    }

    /// The index of a legal action's logit in a policy output.
    fn logit_index(&self, action: &Bound<'_, PyAny>) -> PyResult<u32> {
        let action = code(action)?;
        if !self.state.moves().contains(&action) {
            return Err(self.illegal(action));
        }
        Ok(self.state.logit_index(action))
    }

    /// The legal action with the logit at an index.
    fn action_at_logit(&self, index: i64) -> PyResult<Action> {
        let found = u32::try_from(index).ok();
        let found = found.and_then(|index| self.state.action_at_logit(index));
        found.ok_or_else(|| {
            let (codec, fen) = (self.codec(), self.state.fen());
            IllegalAction::new_err(format!(
                "no legal move has the output {index} of codec {codec} in {fen:?}"
            ))
        })
    }

    fn is_check(&self) -> bool {
        self.state.is_check()
    }

    /// The reason why the game is over, or None.
    #[getter]
    fn outcome(&self) -> Option<&'static str> {
        self.state.outcome().map(|outcome| match outcome {
            Outcome::Checkmate { .. } => "checkmate",
            Outcome::Stalemate => "stalemate",
            Outcome::InsufficientMaterial => "insufficient_material",
            Outcome::Repetition => "repetition",
            Outcome::FiftyMoves => "fifty_moves",
            Outcome::Tablebase { .. } => "tablebase",
        })
    }

    /// The number of sequences of `depth` moves; Ctrl-C interrupts it.
    fn perft(&self, py: Python<'_>, depth: &Bound<'_, PyAny>) -> PyResult<u64> {
        let depth = plies(depth)?;
        if depth == 0 {
            return Ok(1);
        }
        let mut total = 0;
        for (_, count) in self.divided(py, depth)? {
            total += count;
        }
        Ok(total)
    }

    /// `perft(depth - 1)` after every move, by UCI.
    fn divide<'py>(
        &self,
        py: Python<'py>,
        depth: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (action, count) in self.divided(py, plies(depth)?)? {
            counts.set_item(self.state.uci(action), count)?;
        }
        Ok(counts)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| {
            let other = other.borrow();
            self.state.options() == other.state.options()
                && self.state.full_key() == other.state.full_key()
                && self.state.fen() == other.state.fen()
        })
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        _memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::clone(slf)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Arguments, Bound<'py, PyDict>)> {
        let options = PyDict::new(py);
        options.set_item("chess960", self.chess960())?;
        options.set_item("repetitions", self.repetitions())?;
        options.set_item("history_fill", self.history_fill())?;
        options.set_item("encoder", self.encoder())?;
        options.set_item("codec", self.codec())?;
        options.set_item("syzygy", self.syzygy())?;
        Ok(((self.start.to_string(), self.moves.clone()), options))
    }
}

impl PyChess {
    /// Counts root move by root move with the GIL released; checks for signals in between.
    fn divided(&self, py: Python<'_>, depth: u8) -> PyResult<Vec<(Action, u64)>> {
        let mut counts = Vec::new();
        let Some(below) = depth.checked_sub(1) else {
            return Ok(counts);
        };
        for action in self.state.moves() {
            let mut next = self.state.clone();
            let Ok(()) = next.apply(action);
            counts.push((action, py.detach(|| next.perft(below))));
            py.check_signals()?;
        }
        Ok(counts)
    }
}

/// Expands packed planes, uint64 `[n, planes]`, to float32 `[n, planes, 8, 8]`.
#[pyfunction]
#[pyo3(signature = (packed, encoder="lc0_112"))]
pub fn expand_planes<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u64>,
    encoder: &str,
) -> PyResult<Bound<'py, PyArray4<f32>>> {
    let layout = named("encoder", &ENCODERS, encoder)?;
    let (rows, planes, expected) = (packed.shape()[0], packed.shape()[1], layout.num_planes());
    if planes != expected {
        return Err(ConfigError::new_err(format!(
            "packed has {planes} planes per row, but {encoder} has {expected}: give uint64 \
             [n, {expected}], or name the encoder that made it"
        )));
    }
    let packed = packed.as_array();
    let packed = packed.as_standard_layout();
    let mut cells = vec![0.0; 64 * packed.len()];
    if let Some(packed) = packed.as_slice() {
        py.detach(|| expand(layout, packed, &mut cells));
    }
    PyArray1::from_vec(py, cells).reshape([rows, planes, 8, 8])
}

/// An action code from Python; it may be invalid.
fn code(action: &Bound<'_, PyAny>) -> PyResult<Action> {
    action.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(action.py()) {
            return not_a_code(action);
        }
        IllegalAction::new_err(format!(
            "no move has the code {action}: codes are 0 to 4671"
        ))
    })
}

/// A FEN from Python; for a python-chess board the error names `Chess.from_board`.
fn text_of_fen(given: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = given.extract() {
        return Ok(text);
    }
    let kind = given.get_type().name()?;
    let fix = if given.hasattr("move_stack")? {
        "convert a python-chess board with Chess.from_board"
    } else {
        "give it as text"
    };
    let message = format!("the FEN is of type {kind}: {fix}");
    Err(IllegalPosition::new_err(message))
}

fn plies(depth: &Bound<'_, PyAny>) -> PyResult<u8> {
    depth.extract().map_err(|error: PyErr| {
        if !error.is_instance_of::<PyOverflowError>(depth.py()) {
            return error;
        }
        ConfigError::new_err(format!("depth is {depth}, but must be from 0 to 255 plies"))
    })
}

const FILLS: [(&str, HistoryFill); 3] = [
    ("no", HistoryFill::No),
    ("fen_only", HistoryFill::FenOnly),
    ("always", HistoryFill::Always),
];

const ENCODERS: [(&str, Encoder); 5] = [
    ("lc0_112", Encoder::Lc0),
    ("az119", Encoder::Az119),
    ("planes19", Encoder::Planes19),
    ("planes18", Encoder::Planes18),
    ("planes29", Encoder::Planes29),
];

const CODECS: [(&str, Codec); 2] = [("az73", Codec::Az73), ("lc0", Codec::Lc0)];

fn encoding(encoder: &str, codec: &str, history_fill: &str) -> PyResult<Encoding> {
    Ok(Encoding {
        encoder: named("encoder", &ENCODERS, encoder)?,
        codec: named("codec", &CODECS, codec)?,
        history_fill: named("history_fill", &FILLS, history_fill)?,
    })
}

fn tables(path: &Path) -> PyResult<&'static Tables> {
    Tables::open(&path.to_string_lossy()).map_err(raise)
}

/// The meaning of an option's value.
fn named<T: Copy>(option: &str, known: &[(&str, T)], value: &str) -> PyResult<T> {
    let found = known.iter().find(|(name, _)| *name == value);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<String> = known.iter().map(|(name, _)| format!("'{name}'")).collect();
        let (last, others) = names.split_last().expect("an option has values");
        ConfigError::new_err(format!(
            "{option} is {value:?}, but must be {} or {last}",
            others.join(", ")
        ))
    })
}

fn name_of<T: Copy + PartialEq>(known: &[(&'static str, T)], meaning: T) -> &'static str {
    let found = known.iter().find(|(_, other)| *other == meaning);
    found.map_or(known[0].0, |(name, _)| name)
}

fn raise(error: ChessError) -> PyErr {
    let message = error.to_string();
    match error {
        ChessError::Fen { .. } | ChessError::Position { .. } => IllegalPosition::new_err(message),
        ChessError::Over { .. } => GameOver::new_err(message),
        ChessError::Repetitions(_) | ChessError::Tables { .. } => ConfigError::new_err(message),
        ChessError::Unreadable { .. }
        | ChessError::Ambiguous { .. }
        | ChessError::Illegal { .. }
        | ChessError::IllegalAction { .. } => IllegalAction::new_err(message),
    }
}

impl Bridge for Chess {
    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(object.cast::<PyChess>()?.borrow().state.clone())
    }

    /// A state inside a tree has its history, but not its list of moves.
    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (state, start, moves) = (self.clone(), self.fen().into(), Vec::new());
        let game = PyChess {
            state,
            start,
            moves,
        };
        object_of(&like.get_type(), game)
    }

    fn evaluator(
        name: &str,
        params: &Bound<'_, PyDict>,
        discount: f64,
    ) -> PyResult<Box<dyn Evaluator<Self>>> {
        match name {
            "material" => Ok(Box::new(Material)),
            "mates" => {
                let number = |name: &str| params.as_any().get_item(name)?.extract::<u32>();
                Ok(Box::new(Mates {
                    budget: number("budget")?,
                    root_budget: number("root_budget")?,
                }))
            }
            _ => crate::evaluators::common(name, params, discount),
        }
    }
}
