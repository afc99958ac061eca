"""Random operations beside a real RabbitMQ: sequences made from seeds, played on both, and whatever differs made small, decided and kept.

`making` makes a sequence from a seed, `playing` plays it and writes down what clients see after each operation, `search` plays thousands
on a Warren and a RabbitMQ that runs beside it, `reducing` makes small what differs, `keeping` has what RabbitMQ answered to some hundred
sequences, and `decided` what is meant to differ and why.
"""
