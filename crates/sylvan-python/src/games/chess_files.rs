//! `sylvan._native.ChessGameFile`: packed games as NumPy columns.

use numpy::PyArray1;
use numpy::PyArrayMethods;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sylvan_games::chess::GameFile;

/// The games of a file; see `sylvan.learning.game_files`.
#[pyclass(frozen, name = "ChessGameFile", module = "sylvan._native")]
pub struct PyGameFile {
    file: GameFile,
}

#[pymethods]
impl PyGameFile {
    #[new]
    fn new(py: Python<'_>, data: &[u8]) -> Self {
        let data = data.to_vec();
        let file = py.detach(|| GameFile::open(data));
        Self { file }
    }

    /// The number of complete games.
    #[getter]
    fn num_games(&self) -> usize {
        self.file.num_games()
    }

    /// The number of positions in complete games.
    #[getter]
    fn num_positions(&self) -> usize {
        self.file.num_positions()
    }

    #[getter]
    fn has_evaluations(&self) -> bool {
        self.file.has_evaluations()
    }

    /// The error of an incomplete game at the end of the file, or None.
    #[getter]
    fn cut(&self) -> Option<String> {
        self.file.cut().map(ToString::to_string)
    }

    /// Columns of the games `first..last`, and an error for each skipped game.
    #[pyo3(signature = (first, last, threads=1))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        last: usize,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyDict>, Vec<String>)> {
        let (columns, faults) = py.detach(|| self.file.read(first..last, threads));
        let positions = columns.facts.len();
        let made = PyDict::new(py);
        let boards = PyArray1::from_vec(py, columns.boards).reshape([positions, 4])?;
        made.set_item("boards", boards)?;
        made.set_item("facts", PyArray1::from_vec(py, columns.facts))?;
        made.set_item("choices", PyArray1::from_vec(py, columns.choices))?;
        made.set_item("played", PyArray1::from_vec(py, columns.played))?;
        made.set_item("legal", PyArray1::from_vec(py, columns.legal))?;
        made.set_item("results", PyArray1::from_vec(py, columns.results))?;
        made.set_item("evaluations", PyArray1::from_vec(py, columns.evaluations))?;
        made.set_item("plies_left", PyArray1::from_vec(py, columns.plies_left))?;
        made.set_item("games", PyArray1::from_vec(py, columns.games))?;
        Ok((made, faults.iter().map(ToString::to_string).collect()))
    }
}
