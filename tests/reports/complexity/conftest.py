import pytest

POWERS = {"GRU": (1.0, 8.0), "convolution": (1.0, 2.0), "self-attention": (1.8, 0.05)}


def made_up(powers=POWERS, lengths=(128, 256, 362, 512, 724, 1024), error=0.001, width=64):
    """report.json of layers whose times are powers of the length: from their names to exponent and factor."""
    rows = [
        {
            "pass": way,
            "length": n,
            "rounds": 9,
            "layers": {
                name: {"seconds": 1e-6 * factor * n**power, "error": 1e-6 * error * factor * n**power, "bytes": n << 14}
                for name, (power, factor) in powers.items()
            },
        }
        for n in lengths
        for way in ("forward", "forward+backward")
    ]
    arguments = {"width": width, "heads": 4, "batch": 2}
    about = {"hardware": {"device": "cpu"}, "versions": {"torch": "2"}}
    return {"report": "complexity", "command": "c", "arguments": arguments, "runs": {}, "rows": rows, **about}


@pytest.fixture
def content():
    """Layers that grow as table 1 says."""
    return made_up()
