"""Blob apart from its rules: players, matches, training data. In the order in which data flows:

`deals`           deals weighted by the bids and plays seen
`card_counter`    an evaluator without a network
`search`          players that search
`network_player`  a network as a player, and a search with it
`players`         players by name: built-in bots and the above
`tables`          many rounds in lock-step, for players with batches
`match`           matches on repeatable deals
`yardsticks`      bots as fixed opponents of training runs
`advice`          the value of each bid or card for a seat
`session`         a person against bots, with hints
`copilot`         a real table, entered card by card, with advice
`rounds`          rounds played by bots, as training data
`critic`          a value network that sees all hands
`practice`        training by self-play with PPO
"""
