//! Errors of sizes, moves and texts; after an error the state is unchanged.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConnectFourError {
    #[error(
        "a Connect Four board of {columns} columns and {rows} rows does not fit: \
         both must be at least 1 and columns * (rows + 1) at most 64"
    )]
    Size { columns: usize, rows: usize },
    #[error("there is no column {column}: the actions of this board are 0 to {last}", last = .columns - 1)]
    NoSuchColumn { column: usize, columns: usize },
    #[error("column {column} is full: choose one of the columns {open:?} (actions count from 0)")]
    ColumnFull { column: usize, open: Vec<usize> },
    /// The same for columns written as text, which count from 1.
    #[error("column {column} is full: choose one of the columns {open:?}")]
    WrittenColumnFull { column: usize, open: Vec<usize> },
    #[error("the game is over: no move can follow")]
    GameOver,
    #[error("{text:?} is not a column: columns are written 1 to {columns}")]
    Notation { text: String, columns: usize },
    #[error("move {ply} of the list cannot be played: {reason}")]
    Moves {
        ply: usize,
        reason: Box<ConnectFourError>,
    },
    #[error("not a Connect Four position: {reason}")]
    Position { reason: String },
}

impl ConnectFourError {
    /// The same error for columns written as text, which count from 1.
    pub fn as_written(self) -> Self {
        match self {
            Self::ColumnFull { column, open } => Self::WrittenColumnFull {
                column: column + 1,
                open: open.into_iter().map(|column| column + 1).collect(),
            },
            Self::Moves { ply, reason } => Self::Moves {
                ply,
                reason: reason.as_written().into(),
            },
            other => other,
        }
    }
}
