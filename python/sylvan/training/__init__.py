"""Learning by self-play, in files that read in the order in which the data flows.

*state → forest → leaves → evaluator → result → replay → learner → network → evaluator*

A run is a sequence of logical steps. In each, games are played with the newest network, what they
taught is put into the replay, the learner goes over a sample of it, and the outcome is written to
the run's folder. Everything follows from the run's seed and the number of the step, so a run that
is cut off anywhere goes on from its last step as if nothing had happened.
"""

import os

# PyTorch's threads spin while they wait for each other. Where another thread wants the core, be it
# the one that draws the next batch, an update then takes ten times as long; sleeping costs little.
# It must be said before PyTorch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
