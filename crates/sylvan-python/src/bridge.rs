//! The `Bridge` trait: converts a game's states from and to Python, and its observations to NumPy
//! arrays.

use numpy::{Element, PyArray1, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;
use pyo3::types::{PyDict, PySlice, PyType};
use pyo3::{IntoPyObjectExt, PyClass};
use sylvan_core::playouts::Playout;
use sylvan_core::values::Values;
use sylvan_core::{Action, Evaluator, Forest, Game, Seat};

/// A game whose states can be converted from and to Python.
pub trait Bridge: Game<Error: Into<PyErr>, Cell: Element> + 'static {
    /// The game runs Python code: keep the GIL.
    const NEEDS_LOCK: bool = false;

    fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Self>;
    /// The first state for actors, which need to know the shape of observations.
    fn first_of_actors(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::from_python(object)
    }
    /// A Python object with this state, of the class of `like`.
    fn to_python<'py>(&self, like: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
    /// The evaluator of this name, with its parameters.
    fn evaluator(
        name: &str,
        params: &Bound<'_, PyDict>,
        discount: f64,
    ) -> PyResult<Box<dyn Evaluator<Self>>> {
        crate::evaluators::common(name, params, discount)
    }
    /// The playout policy of this name, if the game has it.
    fn playout(_name: &str) -> Option<Box<dyn Playout<Self>>> {
        None
    }
    /// The observations of the batch as one array.
    fn observations<V: Values>(
        forest: &mut Forest<Self, V>,
        py: Python<'_>,
        reused: &mut ReusedArrays,
    ) -> PyResult<Py<PyAny>> {
        let rules = &forest.settings.rules;
        let mut shape = vec![forest.num_leaves()];
        shape.extend(&rules.observation_shape);
        let len = forest.num_leaves() * rules.observation_len();
        let array = reused.take::<Self::Cell>(py, len);
        let mut cells = array.try_readwrite()?;
        let out = &mut cells.as_slice_mut()?[..len];
        py.detach(|| forest.observe(out)).map_err(Into::into)?;
        drop(cells);
        let filled = array.get_item(PySlice::new(py, 0, len as isize, 1))?;
        reused.keep(&array);
        drop(array);
        filled.call_method1("reshape", (shape,))?.into_py_any(py)
    }
    /// Writes the observations to the caller's array; returns false if its type or shape does not
    /// fit.
    fn observe_into<V: Values>(
        forest: &mut Forest<Self, V>,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Ok(array) = out.cast::<PyArrayDyn<Self::Cell>>() else {
            return Ok(false);
        };
        let leaf_shape = &forest.settings.rules.observation_shape;
        let Some((&rows, shape)) = array.shape().split_first() else {
            return Ok(false);
        };
        if rows != forest.num_leaves() || shape != leaf_shape || !array.is_c_contiguous() {
            return Ok(false);
        }
        let mut cells = array.try_readwrite()?;
        let out = cells.as_slice_mut()?;
        py.detach(|| forest.observe(out)).map_err(Into::into)?;
        Ok(true)
    }
    /// For learned models: another root of the same model, where `seat` is to move; `legal` masks
    /// the legal actions, `None` allows all.
    fn another_root(&self, _seat: Seat, _legal: Option<&[bool]>) -> Option<Self> {
        None
    }
    /// For learned models: the parent's slot, the action of the last step, and its own slot.
    fn last_step(&self) -> (u32, Action, u32) {
        (0, 0, 0)
    }
}

/// `game` as an object of `class`, which is the class of `T` or a subclass.
pub fn object_of<'py, T: PyClass<Frozen = False>>(
    class: &Bound<'py, PyType>,
    game: T,
) -> PyResult<Bound<'py, PyAny>> {
    object_from(class, (class,), game)
}

/// The same for a class whose `__new__` needs `arguments`; the new object's contents are replaced.
pub fn object_from<'py, T: PyClass<Frozen = False>>(
    class: &Bound<'py, PyType>,
    arguments: impl PyCallArgs<'py>,
    game: T,
) -> PyResult<Bound<'py, PyAny>> {
    let object = class.call_method1("__new__", arguments)?;
    *object.cast::<T>()?.borrow_mut() = game;
    Ok(object)
}

/// Runs Rust code with the GIL released, unless the game needs it.
pub fn unlocked<G: Bridge, T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    if G::NEEDS_LOCK {
        work()
    } else {
        py.detach(work)
    }
}

/// Flat observation arrays returned before, reused once the caller has released them. Two, for
/// callers that keep one batch while they fill the next.
#[derive(Default)]
pub struct ReusedArrays([Option<Py<PyAny>>; 2]);

impl ReusedArrays {
    /// A flat array of at least `len` cells without other references, also through views.
    fn take<'py, T: Element + Copy + Default>(
        &mut self,
        py: Python<'py>,
        len: usize,
    ) -> Bound<'py, PyArray1<T>> {
        for slot in &mut self.0 {
            // SAFETY: the array is alive, and the GIL is held.
            let holders = |array: &Py<PyAny>| unsafe { pyo3::ffi::Py_REFCNT(array.as_ptr()) };
            if slot.as_ref().is_none_or(|array| holders(array) > 1) {
                continue;
            }
            let array = slot.take().map(|array| array.into_bound(py));
            if let Some(Ok(array)) = array.map(Bound::cast_into::<PyArray1<T>>)
                && (len..=4 * len).contains(&array.len())
            {
                return array;
            }
        }
        PyArray1::from_vec(py, vec![T::default(); len])
    }

    /// Stores an array before it is returned to the caller.
    fn keep<T: Element>(&mut self, array: &Bound<'_, PyArray1<T>>) {
        self.0.swap(0, 1);
        self.0[0] = Some(array.clone().into_any().unbind());
    }
}
