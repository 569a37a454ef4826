"""The same run on many machines.

Self-play's leases are played by workers anywhere; the run is otherwise unchanged. Ray starts,
places and restarts processes and carries their messages (`ray_actors`, `driver`); everything else
works without it and is tested without it.

| file | contents |
|---|---|
| `lease` | leases as records that any worker can play |
| `storage` | the folder or object store that all machines reach |
| `profile` | which workers may play |
| `coordinator` | hands out leases, takes each once |
| `network_files` | networks as files, and what evaluates there |
| `slots` | what plays leases in a worker |
| `recipe` | what a worker needs to play |
| `reanalysis` | positions that workers search again |
| `ratings` | parts of ratings that workers play |
| `node_cache` | networks on a machine's own disk |
| `shard_games` | games as bytes |
| `worker` | plays leases |
| `player` | the learner's side |
| `relay` | the run's events, for the driver |
| `run_files` | the cluster's files in a run's folder |
| `status` | the state of a cluster's run, in words |
| `address` | where the machines are |
| `placement` | how the processes share cores and GPUs |
| `ray_actors` | coordinator, workers and learner as Ray starts them |
| `driver` | starts and watches them |
"""
