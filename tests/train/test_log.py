from saccade.train.log import rewound
from tiers import every

STEP = b'{"step": 10, "loss": 0.5, "learning_rate": 0.1, "seconds": 1.0}\n'
END = b'{"step": 20, "final_validation_exact_match": 0.5}\n'


@every(
    ("torn", "kept"),
    [
        (b'{"st', b""),
        (b'{"step": ', b""),
        (b'{"step": 20', b""),
        (b'{"step": 20, "lo', b""),
        (b'{"step": 20, "final_valid', b""),
        (b'{"step": 20, "loss": 1, "learning_rate": 1}', b'{"step": 20, "loss": 1, "learning_rate": 1}\n'),
        (b'{"step": 30, "loss": 1, "learning_rate": 1}', b""),
        (b"my notes", b"my notes\n"),
        (b'{"step": 30, "lamp": "r', b'{"step": 30, "lamp": "r\n'),
    ],
)
def test_a_last_line_without_an_end_is_never_written_on(torn, kept):
    assert rewound(STEP + torn, 20) == STEP + kept


def test_lines_of_others_stay_whatever_step_they_name():
    notes = b'my notes\n[1]\n{"a": 1}\n{"step": "x"}\n\xff\xfe\n{"step": 30, "lamp": "red"}\n{"step": 30, "loss": 2}\n'
    assert rewound(notes + STEP.replace(b"10", b"30"), 20) == notes
    assert rewound(notes + END, 20, ended=True) == notes


def test_line_of_the_end_is_written_again_at_the_end_alone():
    assert rewound(STEP + END, 20) == STEP + END
    assert rewound(STEP + END, 20, ended=True) == STEP
    assert rewound(STEP + END, 10) == STEP
    assert rewound(STEP + END, 30, ended=True) == STEP + END
