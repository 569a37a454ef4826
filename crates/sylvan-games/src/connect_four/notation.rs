//! Positions as text: lists of moves, and pictures of the board.
//!
//! *Moves* are columns counted from 1, one digit each, as in the literature: `"4453"`. Spaces and
//! commas between them are allowed, and required on boards with more than nine columns. *Rows* are
//! the board from the top, `x` for seat 0, `o` for seat 1, `.` for a free cell, with `/` or a line
//! break between rows: `"...o/..xx"`.

use std::fmt;

use super::{ConnectFour, ConnectFourError, Size};

impl ConnectFour {
    /// Plays `moves` from the empty board.
    ///
    /// ```
    /// use sylvan_games::connect_four::{ConnectFour, Size};
    /// let game = ConnectFour::from_moves("4453", Size::STANDARD)?;
    /// assert_eq!(game.rows(), "......./......./......./......./...o.../..oxx..");
    /// # Ok::<(), sylvan_games::connect_four::ConnectFourError>(())
    /// ```
    pub fn from_moves(moves: &str, size: Size) -> Result<Self, ConnectFourError> {
        let separated = size.columns() > 9;
        let words = moves
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|w| !w.is_empty());
        let mut columns = Vec::new();
        for word in words {
            if separated {
                columns.push(parse_column(word, size)?);
            } else {
                for (at, digit) in word.char_indices() {
                    columns.push(parse_column(&word[at..at + digit.len_utf8()], size)?);
                }
            }
        }
        Self::from_columns(columns, size).map_err(ConnectFourError::as_written)
    }

    /// Plays columns, counted from 0, from the empty board.
    pub fn from_columns(
        columns: impl IntoIterator<Item = usize>,
        size: Size,
    ) -> Result<Self, ConnectFourError> {
        let mut state = Self::empty(size);
        for (at, column) in columns.into_iter().enumerate() {
            state
                .play(column)
                .map_err(|reason| ConnectFourError::Moves {
                    ply: at + 1,
                    reason: reason.into(),
                })?;
        }
        Ok(state)
    }

    /// Parses the board from its rows, the top one first.
    ///
    /// No stone may float, seat 0 must have as many stones as seat 1 or one more, and only the last
    /// stone may have ended the game. Earlier moves are not checked.
    pub fn from_rows(text: &str) -> Result<Self, ConnectFourError> {
        let lines: Vec<&str> = text
            .split(['/', '\n'])
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let columns = lines.first().map_or(0, |line| line.chars().count());
        let size = Size::new(columns, lines.len())?;
        let mut seats = [0u64; 2];
        for (top, line) in lines.iter().enumerate() {
            if line.chars().count() != columns {
                return Err(refuse(format!(
                    "row {:?} is not {columns} cells wide",
                    line
                )));
            }
            for (column, letter) in line.chars().enumerate() {
                let cell = size.cell(column, size.rows() - 1 - top);
                match letter {
                    'x' => seats[0] |= cell,
                    'o' => seats[1] |= cell,
                    '.' => {}
                    _ => return Err(refuse(format!("{letter:?} is not 'x', 'o' or '.'"))),
                }
            }
        }
        Self::from_stones(seats, size)
    }

    /// The rows from the top, joined by `/`; the inverse of [`ConnectFour::from_rows`].
    pub fn rows(&self) -> String {
        self.to_string().replace('\n', "/")
    }

    fn from_stones(seats: [u64; 2], size: Size) -> Result<Self, ConnectFourError> {
        let all = seats[0] | seats[1];
        let floating = all & !size.bottom() & !(all << 1);
        let [first, second] = seats.map(u64::count_ones);
        if floating != 0 {
            return Err(refuse("a stone has nothing under it".into()));
        }
        if first != second && first != second + 1 {
            return Err(refuse(format!(
                "{first} x and {second} o: x begins, then they alternate"
            )));
        }
        let last = seats[usize::from(first == second)];
        if size.has_four(all ^ last) {
            return Err(refuse("the seat to move already has four in a row".into()));
        }
        let tops = last & !(all >> 1);
        let mut columns = (0..size.columns()).map(|column| tops & size.column(column));
        if size.has_four(last) && columns.all(|top| top == 0 || size.has_four(last ^ top)) {
            return Err(refuse("the game was over before its last stone".into()));
        }
        let stones = (first + second) as u8;
        Ok(Self {
            mover: all ^ last,
            all,
            size,
            stones,
        })
    }
}

/// Parses a column, written from 1 at the left; returns it counted from 0.
pub fn parse_column(text: &str, size: Size) -> Result<usize, ConnectFourError> {
    let number = text
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse::<usize>().ok());
    match number.flatten() {
        Some(column) if (1..=size.columns()).contains(&column) => Ok(column - 1),
        _ => Err(ConnectFourError::Notation {
            text: text.into(),
            columns: size.columns(),
        }),
    }
}

fn refuse(reason: String) -> ConnectFourError {
    ConnectFourError::Position { reason }
}

/// The rows from the top, one line each: `x` for seat 0, `o` for seat 1, `.` for a free cell.
impl fmt::Display for ConnectFour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in (0..self.size.rows()).rev() {
            for column in 0..self.size.columns() {
                let letter = match self.stone(column, row) {
                    None => ".",
                    Some(0) => "x",
                    Some(_) => "o",
                };
                f.write_str(letter)?;
            }
            if row > 0 {
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}
