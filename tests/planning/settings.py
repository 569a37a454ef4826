"""Random settings for property tests; every option of a search is drawn."""

from hypothesis import strategies as st

from sylvan import SearchConfig


@st.composite
def configs(draw, simulations=st.integers(0, 400)):
    """Any settings that go together, clocks and budgets left out."""
    number = st.floats(-1, 1).map(lambda x: round(x, 3))
    fpu = st.one_of(st.sampled_from(["parent", "reduction", "zero", "loss"]), number)
    selection = draw(st.sampled_from(["puct", "uct", "gumbel"]))
    options = selection != "gumbel"
    stop_early = options and draw(st.booleans())
    value_range = draw(st.sampled_from(["game", "tree", "siblings", (-3.0, 5.0)]))
    bounded = options and not stop_early and value_range != "siblings"
    return SearchConfig(
        widening=draw(st.sampled_from([None, None, 1.0, 2.0])) if options else None,
        widening_power=draw(st.sampled_from([0.0, 0.3, 0.5, 1.0])),
        horizon=draw(st.sampled_from([None, None, None, 1, 2, 4])),
        rave=draw(st.sampled_from([0.0, 0.0, 10.0, 500.0])) if options else 0.0,
        simulations=draw(simulations),
        nodes=draw(st.one_of(st.none(), st.integers(1, 300))),
        depth=draw(st.one_of(st.none(), st.none(), st.integers(1, 9))),
        selection=selection,
        c_puct=draw(st.sampled_from([0.0, 0.5, 1.5, 4.0])),
        c_base=draw(st.sampled_from([None, 10.0, 19652.0])),
        c_factor=draw(st.sampled_from([0.5, 1.0, 2.0])),
        c_deviation=draw(st.sampled_from([0.0, 0.5, 1.0])) if value_range != "siblings" else 0.0,
        usual_deviation=draw(st.sampled_from([0.1, 0.4])),
        c_uct=draw(st.sampled_from([0.3, 1.4])),
        max_considered=draw(st.integers(1, 16)),
        gumbel_scale=draw(st.sampled_from([0.0, 1.0])),
        c_visit=draw(st.sampled_from([0.0, 50.0])),
        c_scale=draw(st.sampled_from([0.1, 1.0])),
        fpu=draw(fpu),
        fpu_reduction=draw(st.sampled_from([0.0, 0.3, 1.0])),
        fpu_root=draw(st.one_of(st.none(), fpu)),
        fpu_root_reduction=draw(st.sampled_from([None, 0.1])),
        value_range=value_range,
        policy_temperature=draw(st.sampled_from([1.0, 1.0, 0.5, 1.7])),
        prior_floor=draw(st.sampled_from([0.0, 0.0, 0.01, 0.5])),
        discount=draw(st.sampled_from([1.0, 1.0, 0.9])),
        noise=draw(st.booleans()),
        dirichlet_alpha=draw(st.sampled_from([0.03, 0.3, 10.0])),
        dirichlet_fraction=draw(st.sampled_from([0.0, 0.25, 1.0])),
        forced_playouts=draw(st.sampled_from([0.0, 0.0, 0.5, 2.0, 10.0])),
        temperature=0.0 if stop_early else draw(st.sampled_from([0.0, 1e-3, 1.0, 1e3])),
        stop_early=stop_early,
        lcb=draw(st.sampled_from([0.0, 0.5, 2.0])) if bounded else 0.0,
        shortest_win=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32)),
        proofs=draw(st.booleans()),
        leaves_in_flight=draw(st.sampled_from([1, 1, 2, 3, 8])),
        collisions=draw(st.sampled_from([None, 0, 1, 5])),
        prior_bits=draw(st.sampled_from([8, 16, 32])),
    )
