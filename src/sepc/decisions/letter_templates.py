"""The default templates of a letter; `$name` stands for a field of `Letter`."""

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
