"""How often brokers are killed, and by which dice."""


def pytest_addoption(parser):
    parser.addoption("--rounds", type=int, default=5, help="kills of each kind")
    parser.addoption("--seed", type=int, default=1, help="of the moments of the kills")


def pytest_generate_tests(metafunc):
    if "round_seed" in metafunc.fixturenames:
        options = metafunc.config.option
        metafunc.parametrize("round_seed", [f"{options.seed}/{number}" for number in range(1, options.rounds + 1)])
