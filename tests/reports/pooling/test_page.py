from reports.pages import told, written_twice
from saccade.reports.pooling.page import write_page


def test_the_page_says_everything_and_is_the_same_again(tmp_path, content):
    files, page = written_twice(write_page, content, tmp_path)
    assert files == [
        "directions.png",
        "directions.svg",
        "index.html",
        "index.md",
        "pooling.png",
        "pooling.svg",
    ]
    words = ["**reproduced**", "| fixed dot | 79.00 ± 0.10 | +1.00 ± ", "1000 texts", "Seeds: 1, 2, 3."]
    others = ["SWEM, pooled words (Shen et al. 2018) 84.3", "word vectors that were learned elsewhere"]
    assert all(
        word in page
        for word in [
            *words,
            *others,
            "Along the learned query".lower(),
            "No word vectors from elsewhere",
            "| the movie was not good |",
        ]
    )


def test_the_plot_tells_its_points_in_words(tmp_path, content):
    write_page(tmp_path, content)
    said = told(tmp_path / "pooling.svg")
    assert said["title"] == "Accuracy by what is made of the words"
    assert said["desc"].startswith("sum: accuracy 78; fixed dot: accuracy 79")
