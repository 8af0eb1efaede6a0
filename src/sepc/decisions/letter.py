"""A one-page letter about a decision, for the person it is about; organisations may use their own template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date as calendar_date
from html import escape
from string import Template
from textwrap import fill
from typing import Any

from sepc.wording import did_you_mean, listed, name_of, visible

TEXT = """\
$organisation
$date

$title

$person

$decision

$reasons

$against

$changes

$review

$contact

$organisation
"""

HTML = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
:root { color-scheme: light dark; }
body { font: 17px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
  max-width: 40rem; margin: 2rem auto; padding: 0 1.2rem; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 2rem 0 1rem; }
p { margin: 0 0 .8rem; }
ul { margin: 0 0 1rem; padding-left: 1.4rem; }
.from { display: flex; flex-wrap: wrap; justify-content: space-between; gap: .2rem 2rem; }
@page { size: A4; margin: 22mm; }
@media print { body { font-size: 11pt; margin: 0; padding: 0; max-width: none; color: #000; background: #fff; } }
</style>
</head>
<body>
<main>
<p class="from"><span>$organisation</span> <span>$date</span></p>
<h1>$title</h1>
$person
$decision
$reasons
$against
$changes
$review
$contact
<p>$organisation</p>
</main>
</body>
</html>
"""


# Characters in a line of plain text.
WIDTH = 80
# Trust is given as a number of cases out of this many.
OF_CASES = 100
NOTHING_AGAINST = "None of your values counted clearly against it."


# When a person reviews a decision: on request, before anything is decided, or already done.
ASKED, WILL, DID = REVIEWS = ("asked", "will", "did")


@dataclass(frozen=True)
class Grounds:
    """The reasons for a decision, in words for the person it is about, the most important first."""

    in_favour: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """Labels and columns in an organisation's own words."""

    labels: Mapping[Any, str]
    columns: Mapping[str, str]

    def label(self, label: Any) -> str:
        """A label in these words, or else in quotation marks."""
        name = name_of(label)
        return {str(key): words for key, words in self.labels.items()}.get(name, f"“{name}”")

    def about(self, text: str, column: str) -> str:
        """Replace the name of a column at the start of a text with its words."""
        is_known = column in self.columns and text.startswith(column)
        return f"{self.columns[column]}{text[len(column) :]}" if is_known else text


@dataclass(frozen=True)
class Block:
    """A part of a letter: a sentence, and the points of a list below it."""

    lead: str
    points: tuple[str, ...] = ()

    def text(self) -> str:
        """As plain text, wrapped."""
        points = [fill(visible(point), WIDTH, initial_indent="  - ", subsequent_indent="    ") for point in self.points]
        return "\n".join([fill(visible(self.lead), WIDTH), *points])

    def html(self) -> str:
        """As HTML."""
        if not self.lead:
            return ""
        points = "".join(f"<li>{escape(visible(point))}</li>" for point in self.points)
        return f"<p>{escape(visible(self.lead))}</p>" + (f"<ul>{points}</ul>" if points else "")


@dataclass(frozen=True)
class Letter:
    """A letter: ``print`` shows it as plain text, `to_html` makes a page.

    The attributes are the fields that a template may use, such as ``$decision``; empty ones are left out.

    Attributes
    ----------
    title, date, person, reference, organisation, model : Block
        `person` is a greeting.
    decision : Block
        What was decided, and by what.
    reasons, against : Block
        Which of their values counted for it, and which against it.
    changes : Block
        What would have to change; empty without a recourse.
    review : Block
        Whether a person reviews it.
    contact : Block
        Whom to ask.
    """

    title: Block
    date: Block
    person: Block
    reference: Block
    organisation: Block
    model: Block
    decision: Block
    reasons: Block
    against: Block
    changes: Block
    review: Block
    contact: Block

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, template: str = TEXT) -> str:
        """The letter as plain text, with this template for `string.Template`."""
        filled = _fill_template(template, {name: block.text() for name, block in self._blocks().items()})
        paragraphs = (part.strip("\n") for part in filled.split("\n\n"))
        return "\n\n".join(part for part in paragraphs if part.strip()) + "\n"

    def to_html(self, template: str = HTML) -> str:
        """The letter as one HTML page, with this template for `string.Template`; all values are escaped."""
        blocks = self._blocks()
        lines = ("title", "date", "organisation", "model")
        html = {name: escape(visible(block.lead)) if name in lines else block.html() for name, block in blocks.items()}
        return _fill_template(template, html)

    def _blocks(self) -> dict[str, Block]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _fill_template(template: str, values: Mapping[str, str]) -> str:
    parsed = Template(template)
    unknown = [name for name in parsed.get_identifiers() if name not in values]
    if unknown:
        known = listed(f"${name}" for name in values)
        similar = did_you_mean(unknown[:1], values)
        raise ValueError(f"The template has a field ${unknown[0]}; a letter has {known}.{similar}")
    try:
        return parsed.substitute(values)
    except ValueError as error:
        raise ValueError(f"The template cannot be read: {error}. Write $$ for a dollar sign.") from error


@dataclass(frozen=True)
class Handling:
    """Who handles a case, and how; the fields are parameters of `Decision.letter`."""

    organisation: str
    model: str
    contact: str
    person: str
    reference: str
    decided: str
    review: str | None
    reviewer: str
    date: str | None


def letter_about(decision: Any, grounds: Grounds, handling: Handling, words: Words, recourse: Any) -> Letter:
    """Put a letter together; see `Decision.letter`."""
    review, reference = handling.review, handling.reference
    if review is None:
        review = ASKED if decision.accepted else WILL
    if review not in REVIEWS:
        raise ValueError(f"review must be one of {listed(map(repr, REVIEWS))}, not {review!r}.")
    return Letter(
        title=Block(f"About the decision on your case{f' {reference}' if reference else ''}"),
        date=Block(calendar_date.today().isoformat() if handling.date is None else handling.date),
        person=Block(f"Dear {handling.person}," if handling.person else "Dear Sir or Madam,"),
        reference=Block(f"Your reference: {reference}" if reference else ""),
        organisation=Block(handling.organisation),
        model=Block(handling.model),
        decision=_decision(decision, review, handling, words.label(decision.label)),
        reasons=_reasons(grounds),
        against=_against(grounds),
        changes=Block("") if recourse is None else _changes(decision, recourse, words),
        review=_review(review, handling.reviewer),
        contact=Block(f"If you have questions, or think that something here is wrong, please ask: {handling.contact}."),
    )


def _decision(decision: Any, review: str, handling: Handling, label: str) -> Block:
    often, organisation, model = _how_often(decision.trust), handling.organisation, handling.model
    if review == WILL:
        sure = f" and expects to be right {often}" if often else ""
        lead = f"Your case has not been decided yet. {organisation}'s computer model, {model}, suggests {label}{sure}"
        return Block(f"{lead}{'' if decision.accepted else '; that is not certain enough to decide without a person'}.")
    by = "with the help of" if review == DID else "by"
    decided = handling.decided or label
    what = f"{organisation} has decided your case: {decided}. The decision was made {by} a computer model, {model}."
    if review == DID:
        return Block(f"{what} The model suggested {label}{f' and expects to be right {often}' if often else ''}.")
    return Block(f"{what} By its own estimate, the model is right {often}." if often else what)


def _how_often(trust: float) -> str:
    """A trust in words; empty if there is none."""
    if trust != trust:
        return ""
    n = round(OF_CASES * float(trust))
    return f"in {'over 99' if n > 99 else f'about {n}'} of {OF_CASES} such cases"


def _reasons(grounds: Grounds) -> Block:
    without = "it" if len(grounds.missing) == 1 else "them"
    gone = f" We did not have your {listed(grounds.missing)}; the model decided without {without}."
    missing = gone if grounds.missing else ""
    if not grounds.in_favour:
        return Block(f"The model gives no reasons in terms of individual values.{missing}")
    return Block(f"These values counted most towards it, most important first.{missing}", grounds.in_favour)


def _against(grounds: Grounds) -> Block:
    if not grounds.in_favour and not grounds.against:
        return Block("")
    if not grounds.against:
        return Block(NOTHING_AGAINST)
    return Block("These counted most against it, most important first.", grounds.against)


def _changes(decision: Any, recourse: Any, words: Words) -> Block:
    before = recourse.decision
    if before.label != decision.label or before.trust != decision.trust:
        raise ValueError("The recourse is about a different row than the decision; pass one found for this row.")
    to = words.label(recourse.to)
    if not recourse.answers:
        return Block(f"Among the changes that are possible, none was found that would lead the model to {to}.")
    changes: Sequence[Any] = recourse.answers[0].changes
    if not changes:
        return Block(f"Nothing would have to change for {to}.")
    lead = (
        f"The model would suggest {to} if {'all of this' if len(changes) > 1 else 'this'} were different and all "
        "else stayed the same. There may be other ways, and this is not a promise."
    )
    return Block(lead, tuple(words.about(change.words, change.feature) for change in changes))


def _review(review: str, reviewer: str) -> Block:
    if review == DID:
        return Block(f"A person{f', {reviewer},' if reviewer else ''} has looked at your case and made the decision.")
    if review == WILL:
        return Block(f"A person{f', {reviewer},' if reviewer else ''} will look at your case and decide.")
    who = f" ({reviewer})" if reviewer else ""
    return Block(
        f"No person has looked at this decision so far. You may ask a person{who} to review it, give your view, and "
        "contest it."
    )
