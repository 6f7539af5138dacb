"""Words of the ten digits in twenty languages."""

from collections.abc import Mapping, Sequence

from saccade.errors import ArgumentError

__all__ = ["DIGITS", "spelled"]

#: Words for 0 to 9 by the code of a language (ISO 639-1).
DIGITS: Mapping[str, Sequence[str]] = {
    "ar": ("صفر", "واحد", "اثنان", "ثلاثة", "أربعة", "خمسة", "ستة", "سبعة", "ثمانية", "تسعة"),
    "cs": ("nula", "jedna", "dva", "tři", "čtyři", "pět", "šest", "sedm", "osm", "devět"),
    "de": ("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"),
    "el": ("μηδέν", "ένα", "δύο", "τρία", "τέσσερα", "πέντε", "έξι", "επτά", "οκτώ", "εννέα"),
    "en": ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    "es": ("cero", "uno", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve"),
    "fi": ("nolla", "yksi", "kaksi", "kolme", "neljä", "viisi", "kuusi", "seitsemän", "kahdeksan", "yhdeksän"),
    "fr": ("zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf"),
    "he": ("אפס", "אחת", "שתיים", "שלוש", "ארבע", "חמש", "שש", "שבע", "שמונה", "תשע"),
    "hi": ("शून्य", "एक", "दो", "तीन", "चार", "पाँच", "छह", "सात", "आठ", "नौ"),
    "it": ("zero", "uno", "due", "tre", "quattro", "cinque", "sei", "sette", "otto", "nove"),
    "ja": ("ゼロ", "いち", "に", "さん", "よん", "ご", "ろく", "なな", "はち", "きゅう"),
    "ko": ("영", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"),
    "nl": ("nul", "een", "twee", "drie", "vier", "vijf", "zes", "zeven", "acht", "negen"),
    "pl": ("zero", "jeden", "dwa", "trzy", "cztery", "pięć", "sześć", "siedem", "osiem", "dziewięć"),
    "pt": ("zero", "um", "dois", "três", "quatro", "cinco", "seis", "sete", "oito", "nove"),
    "ru": ("ноль", "один", "два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять"),
    "sv": ("noll", "ett", "två", "tre", "fyra", "fem", "sex", "sju", "åtta", "nio"),
    "tr": ("sıfır", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz"),
    "zh": ("零", "一", "二", "三", "四", "五", "六", "七", "八", "九"),
}


def spelled(digits: str, language: str | None) -> str:
    """Return digits separated by spaces, or their words in a language.

    Args:
        digits: 0 to 9, one after the other.
        language: a key of `DIGITS`, or None for the digits themselves.

    Raises:
        ArgumentError: if the language is another.

    Example:
        >>> spelled("307", "fr"), spelled("307", None)
        ('trois zéro sept', '3 0 7')
    """
    if language is None:
        return " ".join(digits)
    if language not in DIGITS:
        raise ArgumentError(f"--language: expected one of {', '.join(DIGITS)}, got {language}")
    return " ".join(DIGITS[language][int(digit)] for digit in digits)
