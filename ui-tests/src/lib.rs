//! The cases, and how they are read: `fail/` (errors of `cargo check`), `fail-build/` (errors that need `cargo build`)
//! and `pass/`. `tests/ui.rs` compiles them; the page "Reading axis errors" of the book is made of them.
//!
//! A case begins with a comment of one line that says the mistake and the cure; a failing one has a line
//! `//~ ERROR: phrase` for each phrase that its error must hold, whatever the compiler's version. Beside it stands the
//! error as the pinned toolchain prints it, as far as it is about the reader's program ([`readers_part`]): made by
//! `TRYBUILD=overwrite cargo test -p forge-ui-tests`, never by hand.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The toolchain whose errors stand in the `.stderr` files, as `rustc --version` begins.
pub const PINNED: &str = "rustc 1.95.0 ";

/// What follows a phrase's comment marker.
const PHRASE: &str = "//~ ERROR: ";

/// The chapters of the page: the first digit of a case's number, the title, and what it is about.
const CHAPTERS: [(char, &str, &str); 9] = [
    (
        '1',
        "Declaring axes, and naming a tensor's type",
        "Axes are declared once, by `axes!`; a tensor's type lists them in order.",
    ),
    ('2', "Contractions", "`dot` sums over axes that both operands have; every other shared axis is a batch axis."),
    (
        '3',
        "Arithmetic",
        "The right operand's axes are among the left's; a result that grows is asked for by an `outer_` method.",
    ),
    ('4', "Reductions and shapes", "Every operation along an axis asks for it by name, and a new name must be free."),
    (
        '5',
        "`einsum!`",
        "Each operand is followed by its axes as in its type; the errors point at the word that is wrong.",
    ),
    ('6', "`rearrange!`", "One line that shows the axes before and after; nothing vanishes or appears unsaid."),
    ('7', "Fixed sizes", "A size that stands in the declaration is checked by the compiler."),
    ('8', "Generic code", "The compiler knows of an unknown list of axes only what the bounds say."),
    ('9', "Element types, gradients, modules, and what only a build finds", "The rest of what a type can say."),
];

/// One file of `fail/`, `fail-build/` or `pass/`.
pub struct Case {
    /// The file.
    pub path: PathBuf,
    /// `201_dot_left_lacks_the_axis`.
    pub name: String,
    /// The mistake and the cure.
    pub comment: String,
    /// What the error must hold.
    pub phrases: Vec<String>,
    /// The program, without the lines above.
    pub code: String,
}

impl Case {
    fn read(path: &Path) -> std::io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let mut lines = text.lines();
        let comment = lines.next().and_then(|l| l.strip_prefix("// ")).unwrap_or_default().to_owned();
        let phrases = text.lines().filter_map(|l| l.strip_prefix(PHRASE)).map(str::to_owned).collect();
        let code: Vec<&str> = lines.filter(|l| !l.starts_with(PHRASE)).collect();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Case { path: path.to_owned(), name, comment, phrases, code: code.join("\n") + "\n" })
    }

    /// The expected error.
    ///
    /// # Errors
    /// When the file beside the case cannot be read.
    pub fn stderr(&self) -> std::io::Result<String> {
        std::fs::read_to_string(self.path.with_extension("stderr"))
    }
}

/// The cases of a folder of this package, in order.
///
/// # Errors
/// When the folder cannot be read.
pub fn cases(folder: &str) -> std::io::Result<Vec<Case>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()?;
    paths.retain(|p| p.extension().is_some_and(|e| e == "rs"));
    paths.sort();
    paths.iter().map(|p| Case::read(p)).collect()
}

/// The page "Reading axis errors".
///
/// # Errors
/// When a case cannot be read.
pub fn page() -> std::io::Result<String> {
    let mut failing = cases("fail")?;
    failing.extend(cases("fail-build")?);
    let mut page = String::from(INTRODUCTION);
    for (digit, title, about) in CHAPTERS {
        let _ = write!(page, "\n## {title}\n\n{about}\n");
        for case in failing.iter().filter(|c| c.name.starts_with(digit)) {
            let title = case.name.split_once('_').map_or(case.name.as_str(), |(_, t)| t).replace('_', " ");
            let code = case.code.trim();
            let stderr = case.stderr()?;
            let _ = write!(page, "\n### {title}\n\n{}\n\n", case.comment);
            let _ = write!(page, "```rust,ignore\n{code}\n```\n\n```text\n{}\n```\n", stderr.trim_end());
        }
    }
    page.push_str("\n## What compiles\n\nThe same calls, made right.\n");
    for case in cases("pass")? {
        let _ = write!(page, "\n{}\n\n```rust\n{}\n```\n", case.comment, case.code.trim());
    }
    Ok(page)
}

/// An error as its reader needs it: without the lines of source and of places that are not the reader's own (`trybuild`
/// writes `$WORKSPACE` for this repository, `$RUST` for the standard library), without the notes that name the macros
/// there, and without lists of every type that would do. So no edit of Forge that leaves an error's words alone makes
/// its `.stderr` stale.
#[must_use]
pub fn readers_part(stderr: &str) -> String {
    let mut kept = String::new();
    let (mut foreign, mut list) = (false, false);
    for line in stderr.lines() {
        let text = line.trim_start();
        if let Some(place) = text.strip_prefix("--> ").or_else(|| text.strip_prefix("::: ")) {
            foreign = place.starts_with('$');
        } else {
            let source = text.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
            foreign &= source.starts_with('|') || source.starts_with("...");
        }
        if text.trim_start_matches("= ").starts_with("help: the following other types implement trait ") {
            list = true;
        } else {
            list &= line.len() - text.len() > 8; // the list stands further in than any note
        }
        if !foreign && !list && !text.starts_with("= note: this error originates in the ") {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

const INTRODUCTION: &str = "\
<!-- Made from the files of ui-tests/ by `FORGE_WRITE_PAGE=1 cargo test -p forge-ui-tests page`. Do not edit. -->

# Reading axis errors

Forge's mistakes are compile errors. Each that a user can meet stands here: the program, what the compiler prints, and
above both, the mistake and the cure in one line. They are the files of `ui-tests/`, compiled by its tests.

How to read one:

- The first line says it: `no axis `In` in `(Hidden, Out)``. The arrow points at the argument, and the label repeats
  which axes the tensor has.
- `required for ... to implement SubsetOf<...>` says which list was asked for which; the last note says which method
  asked. They matter in generic code, where they name the bound to state.
- Left out here are the lines that the compiler shows of Forge's own source, below the last note, and its lists of all
  types that implement a trait.
- An id or a number of the type level never appears. Where a path does, as in `forge::axes::Batch`, two axes have one
  name.
";
