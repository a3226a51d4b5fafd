#!/usr/bin/env python3
"""Checks what the documents say against the tree.

1. Every relative link of a Markdown file leads to a file, and its #anchor to a heading.
2. The README's first C++ example is examples/quickstart.cc from its first #include on.
3. The output of the built example, if QUICKSTART is there, is the README's.
4. Every ```lathe block with lines that start with "> " shows what jit-repl prints for them; ".." at
   the end of a line stands for anything.
5. No tracked file names a path of somebody's machine or a package registry's host.

usage: check_docs.py SOURCE [QUICKSTART [JIT_REPL [--bless]]]; --bless writes the sessions anew
"""
import itertools
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# Put together, so that this file passes its own check.
FOREIGN = re.compile(
    r"(?<![\w.$}])/(?:" + "|".join(["work", "root", "home"]) + r")/"
    r"|\b(?:" + "|".join(host.replace(" ", r"\.") for host in [
        "pypi org", "files pythonhosted org", "registry npmjs org", "crates io", "deb debian org",
        "proxy golang org", "registry hub docker com"]) + r")\b")


def tracked_files(root):
    """Files under version control; of a tree without it, all that could be."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        names = [n for n in listed.stdout.decode().split("\0") if n]
        return [root / n for n in names if (root / n).is_file()]
    skipped = re.compile(r"^(build[^/]*|out|\.git|\.cache)/")
    files = [p for p in root.rglob("*") if p.is_file()]
    return [p for p in files if not skipped.match(p.relative_to(root).as_posix())]


def without_code(text):
    """Markdown without code blocks and code spans, in which brackets are no links."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(markdown):
    """The anchors of a page's headings, as hosts of Markdown make them."""
    text = re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ +(.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def check_links(root, files):
    for page in files:
        if page.suffix != ".md":
            continue
        name = page.relative_to(root).as_posix()
        for target in LINK.findall(without_code(page.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            if not to.exists():
                yield f"{name}: the link to {target} leads nowhere"
            elif anchor and to.suffix == ".md" and anchor not in anchors(to.read_text()):
                yield f"{name}: {path or name} has no heading for #{anchor}"


def block(text, language):
    """The first code block of that language, or None."""
    found = re.search(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return found and found.group(1)


def check_example(root, program):
    readme = (root / "README.md").read_text()
    source = (root / "examples" / "quickstart.cc").read_text()
    if block(readme, "cpp") != source[source.index("#include"):]:
        yield "README.md: the example differs from examples/quickstart.cc"
    if program is None or not pathlib.Path(program).exists():
        return  # built without the examples
    run = subprocess.run([program], capture_output=True, text=True, timeout=60)
    shown = (block(readme, "text") or "").splitlines()
    printed = run.stdout.splitlines()
    if run.returncode != 0 or len(shown) != len(printed):
        yield f"README.md: the example shows {len(shown)} lines, it prints {len(printed)}"
        return
    for want, found in zip(shown, printed):
        # Bytes depend on the number of threads and the width of vectors.
        if want != found and not (want.startswith("bytes") and found.startswith("bytes")):
            yield f"README.md: the example shows '{want}', it prints '{found}'"


SESSION = re.compile(r"^```lathe\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def run_session(repl, block):
    """The block with what jit-repl prints under each line that is typed; None if there is none."""
    typed = [line[2:] for line in block.splitlines() if line.startswith("> ")]
    if not typed:
        return None
    lines, before = [], 0
    for count in range(1, len(typed) + 1):  # what one more line adds
        run = subprocess.run([repl], input="\n".join(typed[:count]) + "\n", text=True, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed = run.stdout.splitlines()
        lines += [f"> {typed[count - 1]}", *printed[before:]]
        before = len(printed)
    return "".join(f"{line}\n" for line in lines)


def same(shown, printed):
    """Whether a line of a page is one that was printed."""
    return shown == printed or (shown.endswith("..") and printed.startswith(shown[:-2]))


def check_sessions(root, files, repl, bless):
    if repl is None or not pathlib.Path(repl).exists():
        return
    for page in files:
        if page.suffix != ".md":
            continue
        text = page.read_text()
        for found in SESSION.finditer(text):
            block = found.group(1)
            printed = run_session(repl, block)
            if printed is None:
                continue
            pairs = list(itertools.zip_longest(block.splitlines(), printed.splitlines(),
                                               fillvalue="nothing"))
            different = [pair for pair in pairs if not same(*pair)]
            kept = [s if same(s, p) else p for s, p in pairs if p != "nothing"]
            if not different:
                continue
            if bless:
                mended = "".join(line + "\n" for line in kept)
                text = text.replace(f"```lathe\n{block}```", f"```lathe\n{mended}```")
                page.write_text(text)
                continue
            yield (f"{page.relative_to(root).as_posix()}: a session shows '{different[0][0]}', "
                   f"jit-repl prints '{different[0][1]}'")


def check_foreign_names(root, files):
    for path in files:
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue  # not a text
        for number, line in enumerate(lines, 1):
            found = FOREIGN.search(line)
            if found:
                yield f"{path.relative_to(root).as_posix()}:{number}: names {found.group(0)}"


def main():
    bless = sys.argv[-1] == "--bless"
    if len(sys.argv) - bless not in (2, 3, 4):
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    files = tracked_files(root)
    faults = [*check_links(root, files),
              *check_example(root, sys.argv[2] if len(sys.argv) >= 3 else None),
              *check_sessions(root, files, sys.argv[3] if len(sys.argv) >= 4 else None, bless),
              *check_foreign_names(root, files)]
    for fault in faults:
        print(fault)
    if faults:
        sys.exit(1)
    print(f"{len(files)} files are in order")


main()
