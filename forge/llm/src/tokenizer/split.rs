//! Pre-tokenizers: how text is cut into words before pairs are merged within each.
//!
//! A pre-tokenizer is a list of patterns. The first cuts the text into its matches and what stands between them; each
//! further one cuts the pieces of those before it, seeing nothing beyond a piece. The patterns are known by regular
//! expressions, which stand above the functions that match them; each function is linear in the text.

use super::class::{Class, class};

/// What a pattern finds at the start of a text.
pub(crate) enum Found {
    /// A match of so many bytes.
    Piece(usize),
    /// No match begins within so many bytes.
    Gap(usize),
}
use Found::{Gap, Piece};

/// A pattern: what stands at the start of a text that is not empty.
type Pattern = fn(&str) -> Found;

/// How a family cuts text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreTokenizer {
    /// The patterns, in order.
    pub patterns: &'static [Pattern],
    /// Whether a word that is a token is taken whole, without merging.
    pub ignore_merges: bool,
    /// Whether text begins with a token of its own where the file does not say.
    pub add_bos: bool,
    /// Whether decoding tidies up spaces before punctuation.
    pub clean_spaces: bool,
}

/// Pre-tokenizers by the names that files know them by.
///
/// `clean` and the flags after it are those of [`PreTokenizer`].
struct Row {
    names: &'static [&'static str],
    patterns: &'static [Pattern],
    clean: bool,
    ignore_merges: bool,
    add_bos: bool,
}

const fn row(names: &'static [&'static str], patterns: &'static [Pattern], clean: bool) -> Row {
    Row { names, patterns, clean, ignore_merges: false, add_bos: false }
}

const TABLE: &[Row] = &[
    Row {
        names: &[
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "jina-v5-nano",
        ],
        patterns: &[llama3],
        clean: true,
        ignore_merges: true,
        add_bos: true,
    },
    row(&["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], &[llama3], true),
    row(&["qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "hunyuan", "solar-open", "grok-2"], &[qwen2], false),
    row(&["stablelm2", "megrez"], &[qwen2], true),
    row(&["qwen35"], &[qwen35], false),
    row(&["bailingmoe", "bailingmoe2", "llada-moe"], &[qwen2], false),
    row(&["seed-coder"], &[seed_coder], false),
    row(
        &[
            "gpt-2",
            "phi-2",
            "jina-es",
            "jina-de",
            "gigachat",
            "jina-v2-es",
            "jina-v2-de",
            "a.x-4.0",
            "mellum",
            "modern-bert",
            "mpt",
            "olmo",
            "jais",
            "exaone4",
        ],
        &[gpt2],
        true,
    ),
    row(&["trillion", "granite-docling"], &[gpt2], false),
    row(&["smollm", "command-r"], &[digit, gpt2], false),
    row(&["starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"], &[digit, gpt2], true),
    row(&["falcon"], &[falcon_punctuation, gpt2, three_digits], true),
    row(&["default", ""], &[default_punctuation, gpt2, numbers, three_digits], true),
    row(&["deepseek-llm"], &[line_break, cased_letters, wide_punctuation, trailing_space, cjk_hangul, numbers], false),
    row(&["deepseek-coder"], &[line_break, spaced_letters, spaced_punctuation, cjk_hangul, digit], false),
    row(&["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"], &[up_to_three_digits, cjk_kana, deepseek3], false),
    Row { names: &["tekken"], patterns: &[tekken], clean: false, ignore_merges: true, add_bos: true },
    row(&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[gpt4o], false),
    row(&["poro-chat"], &[bloom], false),
    row(&["bloom", "gpt3-finnish"], &[bloom], true),
    row(&["viking"], &[bloom, digit], false),
];

impl PreTokenizer {
    /// The pre-tokenizer that files call `name`; the empty name is what a file without one gets.
    pub fn named(name: &str) -> Option<Self> {
        let r = TABLE.iter().find(|r| r.names.contains(&name))?;
        Some(Self { patterns: r.patterns, ignore_merges: r.ignore_merges, add_bos: r.add_bos, clean_spaces: r.clean })
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().flat_map(|r| r.names).copied().filter(|n| !n.is_empty())
    }

    /// Calls `word` for each word of `text`, in order.
    pub fn words<'a>(&self, text: &'a str, word: &mut dyn FnMut(&'a str)) {
        cut(self.patterns, text, word);
    }
}

/// Cuts by the first pattern, then each piece by the others.
fn cut<'a>(patterns: &[Pattern], text: &'a str, word: &mut dyn FnMut(&'a str)) {
    let Some((first, others)) = patterns.split_first() else {
        if !text.is_empty() {
            word(text);
        }
        return;
    };
    // Between `start` and `at` nothing has matched.
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        match first(&text[at..]) {
            Gap(n) => at += n.max(1),
            Piece(n) => {
                if start < at {
                    cut(others, &text[start..at], word);
                }
                cut(others, &text[at..at + n], word);
                at += n;
                start = at;
            }
        }
    }
    if start < at {
        cut(others, &text[start..at], word);
    }
}

/// The bytes of the characters at the start of `s` for which `f` holds.
#[inline]
fn run(s: &str, f: impl Fn(char) -> bool) -> usize {
    s.char_indices().find(|&(_, c)| !f(c)).map_or(s.len(), |(i, _)| i)
}

/// The first character; patterns never see an empty text.
#[inline]
fn first(s: &str) -> char {
    s.chars().next().unwrap_or_default()
}

fn is(k: Class) -> impl Fn(char) -> bool {
    move |c| class(c) == k
}

/// The length of a match, or one character without one.
#[inline]
fn or_gap(s: &str, n: usize) -> Found {
    if n > 0 { Piece(n) } else { Gap(first(s).len_utf8()) }
}

/// `'s|'t|'re|'ve|'m|'ll|'d`, in either case where `fold`.
fn contraction(s: &str, fold: bool) -> usize {
    let b = s.as_bytes();
    if b.first() != Some(&b'\'') {
        return 0;
    }
    let at = |i: usize| b.get(i).map_or(0, |c| if fold { c.to_ascii_lowercase() } else { *c });
    match (at(1), at(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`; the first only where `lines`.
fn space(s: &str, lines: bool) -> usize {
    let mut last = 0;
    let mut end = 0;
    let mut line_end = 0;
    for (i, c) in s.char_indices() {
        if class(c) != Class::Space {
            break;
        }
        last = i;
        end = i + c.len_utf8();
        if matches!(c, '\r' | '\n') {
            line_end = end;
        }
    }
    if lines && line_end > 0 {
        line_end
    } else if end < s.len() && last > 0 {
        // More than one, and something follows: the last one goes with that.
        last
    } else {
        end
    }
}

/// ` ?[..]+[..]*`: an optional space, characters for which `f` holds, then those for which `tail` holds.
fn spaced(s: &str, f: impl Fn(char) -> bool, tail: impl Fn(char) -> bool) -> usize {
    let start = usize::from(s.starts_with(' '));
    let n = run(&s[start..], f);
    if n == 0 {
        return 0;
    }
    start + n + run(&s[start + n..], tail)
}

fn never(_: char) -> bool {
    false
}

fn line(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// `\p{N}{1,max}`.
fn digits(s: &str, max: usize) -> usize {
    s.chars().take(max).take_while(|&c| class(c) == Class::Number).map(char::len_utf8).sum()
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(s: &str) -> Found {
    let n = contraction(s, false);
    if n > 0 {
        return Piece(n);
    }
    let start = usize::from(s.starts_with(' '));
    let rest = &s[start..];
    let n = match rest.chars().next().map(class) {
        None | Some(Class::Space) => return Piece(space(s, false)),
        Some(Class::Letter) => run(rest, is(Class::Letter)),
        Some(Class::Number) => run(rest, is(Class::Number)),
        Some(_) => run(rest, neither_space_letter_number),
    };
    Piece(start + n)
}

fn neither_space_letter_number(c: char) -> bool {
    !matches!(class(c), Class::Space | Class::Letter | Class::Number)
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?L+|\p{N}{1,max}| ?[^\s L \p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
/// where `L` is what `letter` says.
fn words(s: &str, letter: impl Fn(Class) -> bool, max: usize, tail: impl Fn(char) -> bool) -> usize {
    let n = contraction(s, true);
    if n > 0 {
        return n;
    }
    let n = letters(s, &letter);
    if n > 0 {
        return n;
    }
    let n = digits(s, max);
    if n > 0 {
        return n;
    }
    let other = |c| !letter(class(c)) && !matches!(class(c), Class::Space | Class::Number);
    let n = spaced(s, other, tail);
    if n > 0 { n } else { space(s, true) }
}

/// `[^\r\n\p{L}\p{N}]?L+`
fn letters(s: &str, letter: impl Fn(Class) -> bool) -> usize {
    let is_letter = |c| letter(class(c));
    let c = first(s);
    if is_letter(c) {
        return run(s, is_letter);
    }
    if line(c) || class(c) == Class::Number {
        return 0;
    }
    let n = run(&s[c.len_utf8()..], is_letter);
    if n > 0 { c.len_utf8() + n } else { 0 }
}

fn letter(k: Class) -> bool {
    k == Class::Letter
}

fn letter_or_mark(k: Class) -> bool {
    matches!(k, Class::Letter | Class::Mark)
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
fn llama3(s: &str) -> Found {
    Piece(words(s, letter, 3, line))
}

/// As [`llama3`] with `\p{N}`.
fn qwen2(s: &str) -> Found {
    Piece(words(s, letter, 1, line))
}

/// As [`qwen2`] with `[\p{L}\p{M}]` for the letters of words.
fn qwen35(s: &str) -> Found {
    Piece(words(s, letter_or_mark, 1, line))
}

/// As [`qwen2`] without line breaks after punctuation.
fn seed_coder(s: &str) -> Found {
    Piece(words(s, letter, 1, never))
}

/// `\p{N}`
fn digit(s: &str) -> Found {
    // Without one, nothing matches up to the next number.
    match digits(s, 1) {
        0 => Gap(run(s, |c| class(c) != Class::Number)),
        n => Piece(n),
    }
}

/// `\p{N}{1,3}`
fn up_to_three_digits(s: &str) -> Found {
    match digits(s, 3) {
        0 => Gap(run(s, |c| class(c) != Class::Number)),
        n => Piece(n),
    }
}

/// `\p{N}+`
fn numbers(s: &str) -> Found {
    or_gap(s, run(s, is(Class::Number)))
}

/// `[0-9][0-9][0-9]`
fn three_digits(s: &str) -> Found {
    let n = s.bytes().take(3).take_while(u8::is_ascii_digit).count();
    if n == 3 { Piece(3) } else { Gap(first(s).len_utf8()) }
}

/// `[\r\n]`
fn line_break(s: &str) -> Found {
    if line(first(s)) { Piece(1) } else { Gap(run(s, |c| !line(c))) }
}

/// ``[\p{P}$+<=>^~|`]+``
fn falcon_punctuation(s: &str) -> Found {
    or_gap(s, run(s, |c| class(c) == Class::Punctuation || "$+<=>^~|`".contains(c)))
}

/// `[\p{P}$+<=>^~|]+`
fn default_punctuation(s: &str) -> Found {
    or_gap(s, run(s, |c| class(c) == Class::Punctuation || "$+<=>^~|".contains(c)))
}

/// `\s?X+`, where `X` is what `f` says.
fn after_space(s: &str, f: impl Fn(char) -> bool) -> Found {
    let c = first(s);
    let start = if class(c) == Class::Space { c.len_utf8() } else { 0 };
    match run(&s[start..], f) {
        0 => Gap(c.len_utf8()),
        n => Piece(start + n),
    }
}

/// `\s?\p{L}+`
fn spaced_letters(s: &str) -> Found {
    after_space(s, is(Class::Letter))
}

/// `\s?\p{P}+`
fn spaced_punctuation(s: &str) -> Found {
    after_space(s, is(Class::Punctuation))
}

/// The letters of alphabets with two cases, as DeepSeek LLM lists them.
const CASED: &[(u32, u32)] = &[
    (0x41, 0x5a),
    (0x61, 0x7a),
    (0xb5, 0xb5),
    (0xc0, 0xd6),
    (0xd8, 0xf6),
    (0xf8, 0x1ba),
    (0x1bc, 0x1bf),
    (0x1c4, 0x293),
    (0x295, 0x2af),
    (0x370, 0x373),
    (0x376, 0x377),
    (0x37b, 0x37d),
    (0x37f, 0x37f),
    (0x386, 0x386),
    (0x388, 0x38a),
    (0x38c, 0x38c),
    (0x38e, 0x3a1),
    (0x3a3, 0x3f5),
    (0x3f7, 0x481),
    (0x48a, 0x52f),
    (0x531, 0x556),
    (0x10a0, 0x10c5),
    (0x13a0, 0x13f5),
    (0x13f8, 0x13fd),
    (0x1c90, 0x1cba),
    (0x1cbd, 0x1cbf),
    (0x1d00, 0x1d2b),
    (0x1d6b, 0x1d77),
    (0x1d79, 0x1d9a),
    (0x1e00, 0x1f15),
    (0x1f18, 0x1f1d),
    (0x1f20, 0x1f45),
    (0x1f48, 0x1f4d),
    (0x1f50, 0x1f57),
    (0x1f59, 0x1f59),
    (0x1f5b, 0x1f5b),
    (0x1f5d, 0x1f5d),
    (0x1f5f, 0x1f7d),
    (0x1f80, 0x1fb4),
    (0x1fb6, 0x1fbc),
    (0x1fbe, 0x1fbe),
    (0x1fc2, 0x1fc4),
    (0x1fc6, 0x1fcc),
    (0x1fd0, 0x1fd3),
    (0x1fd6, 0x1fdb),
    (0x1fe0, 0x1fec),
    (0x1ff2, 0x1ff4),
    (0x1ff6, 0x1ffc),
    (0x2102, 0x2102),
    (0x2107, 0x2107),
    (0x210a, 0x2113),
    (0x2115, 0x2115),
    (0x2119, 0x211d),
    (0x2124, 0x2124),
    (0x2126, 0x2126),
    (0x2128, 0x2128),
    (0x212a, 0x212d),
    (0x212f, 0x2134),
    (0x2139, 0x2139),
    (0x213c, 0x213f),
    (0x2145, 0x2149),
    (0x214e, 0x214e),
    (0x2183, 0x2184),
    (0x2c00, 0x2c7b),
    (0x2c7e, 0x2ce4),
    (0x2ceb, 0x2cee),
    (0x2cf2, 0x2cf3),
    (0xa640, 0xa66d),
    (0xa680, 0xa69b),
    (0xa722, 0xa76f),
    (0xa771, 0xa787),
    (0xa78b, 0xa78e),
    (0xab70, 0xabbf),
    (0xfb00, 0xfb06),
    (0xfb13, 0xfb17),
    (0xff21, 0xff3a),
    (0xff41, 0xff5a),
    (0x10400, 0x1044f),
    (0x104b0, 0x104d3),
    (0x104d8, 0x104fb),
    (0x10c80, 0x10cb2),
    (0x10cc0, 0x10cf2),
    (0x118a0, 0x118df),
    (0x1e900, 0x1e943),
];

fn within(ranges: &[(u32, u32)], c: char) -> bool {
    let c = c as u32;
    let after = ranges.partition_point(|r| r.0 <= c);
    after > 0 && c <= ranges[after - 1].1
}

/// `\s?[A-Za-zµÀ-ÖØ-ö...]+`
fn cased_letters(s: &str) -> Found {
    after_space(s, |c| within(CASED, c))
}

/// `\s?[!-/:-~！-／：-～‘-‟　-。]+`; the ideographic space, being white space, only before the others.
fn wide_punctuation(s: &str) -> Found {
    after_space(
        s,
        |c| matches!(c, '!'..='/' | ':'..='~' | '！'..='／' | '：'..='～' | '‘'..='‟' | '\u{3001}'..='\u{3002}'),
    )
}

/// `\s+$`
fn trailing_space(s: &str) -> Found {
    let n = run(s, is(Class::Space));
    match n {
        0 => Gap(run(s, |c| class(c) != Class::Space)),
        n if n == s.len() => Piece(n),
        n => Gap(n),
    }
}

/// `[一-龥ࠀ-一가-퟿]+`
fn cjk_hangul(s: &str) -> Found {
    or_gap(s, run(s, |c| matches!(c, '\u{800}'..='\u{9fa5}' | '\u{ac00}'..='\u{d7ff}')))
}

/// `[一-龥぀-ゟ゠-ヿ]+`
fn cjk_kana(s: &str) -> Found {
    or_gap(s, run(s, |c| matches!(c, '\u{4e00}'..='\u{9fa5}' | '\u{3040}'..='\u{30ff}')))
}

/// ``[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*``
/// `|\s*[\r\n]+|\s+(?!\S)|\s+`
fn deepseek3(s: &str) -> Found {
    let c = first(s);
    if c.is_ascii_punctuation() {
        let n = run(&s[1..], |c| c.is_ascii_alphabetic());
        if n > 0 {
            return Piece(1 + n);
        }
    }
    let in_word = |c| letter_or_mark(class(c));
    let sign = |c| matches!(class(c), Class::Punctuation | Class::Symbol);
    if in_word(c) {
        return Piece(run(s, in_word));
    }
    if !line(c) && !sign(c) {
        let n = run(&s[c.len_utf8()..], in_word);
        if n > 0 {
            return Piece(c.len_utf8() + n);
        }
    }
    let n = spaced(s, sign, line);
    or_gap(s, if n > 0 { n } else { space(s, true) })
}

/// `[^\r\n\p{L}\p{N}]?U*W+C|[^\r\n\p{L}\p{N}]?U+W*C`, where `U` are letters but `a-z`, `W` letters but `A-Z`, and `C`
/// is `(?i:'s|'t|'re|'ve|'m|'ll|'d)?` where `contractions`.
fn cased_word(s: &str, contractions: bool) -> usize {
    let upper = |c: char| class(c) == Class::Letter && !c.is_ascii_lowercase();
    let lower = |c: char| class(c) == Class::Letter && !c.is_ascii_uppercase();
    let c = first(s);
    let start = match class(c) {
        Class::Letter => 0,
        Class::Number => return 0,
        _ if line(c) => return 0,
        _ => c.len_utf8(),
    };
    let word = &s[start..];
    let u = run(word, upper);
    let w = run(&word[u..], lower);
    let n = if w > 0 || u == 0 {
        // Empty, if no letter follows.
        u + w
    } else {
        // The first form gives letters back until the last is one without a case in ASCII; else the second form.
        word[..u].char_indices().rev().find(|&(_, c)| lower(c)).map_or(u, |(i, c)| i + c.len_utf8())
    };
    match n {
        0 => 0,
        n => start + n + if contractions { contraction(&word[n..], true) } else { 0 },
    }
}

/// `cased_word|\p{N}{1,max}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
fn cased_words(s: &str, contractions: bool, max: usize) -> Found {
    let n = cased_word(s, contractions);
    if n > 0 {
        return Piece(n);
    }
    let n = digits(s, max);
    if n > 0 {
        return Piece(n);
    }
    let n = spaced(s, neither_space_letter_number, |c| line(c) || c == '/');
    Piece(if n > 0 { n } else { space(s, true) })
}

/// `[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+`
/// `((?=[\p{L}])([^A-Z]))*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
fn tekken(s: &str) -> Found {
    cased_words(s, false, 1)
}

/// As [`tekken`] with contractions after words, and `\p{N}{1,3}`.
fn gpt4o(s: &str) -> Found {
    cased_words(s, true, 3)
}

/// ` ?[^(\s|.,!?…。，、।۔،)]+`
fn bloom(s: &str) -> Found {
    let n = spaced(s, |c| class(c) != Class::Space && !"(|.,!?…。，、।۔،)".contains(c), never);
    or_gap(s, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fancy_regex::Regex;

    /// Names, and the patterns as their authors wrote them.
    const REGEXES: &[(&str, &[&str])] = &[
        (
            "llama-bpe",
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "qwen2",
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "qwen35",
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "bailingmoe",
            &[
                r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            ],
        ),
        (
            "seed-coder",
            &[
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        ("gpt-2", &[GPT2]),
        ("smollm", &[r"\p{N}", GPT2]),
        ("falcon", &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"]),
        ("default", &[r"[\p{P}\$\+<=>\^~\|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"]),
        ("deepseek-coder", &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\u{d7ff}]+", r"\p{N}"]),
        (
            "deepseek-llm",
            &[
                r"[\r\n]",
                "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖＡ-Ｚａ-ｚ]+",
                "\\s?[!-/:-~！-／：-～‘-‟、-。]+",
                r"\s+$",
                "[一-龥ࠀ-一가-\u{d7ff}]+",
                r"\p{N}+",
            ],
        ),
        (
            "deepseek-v3",
            &[
                r"\p{N}{1,3}",
                "[一-龥぀-ゟ゠-ヿ]+",
                r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
            ],
        ),
        (
            "tekken",
            &[
                r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        (
            "gpt-4o",
            &[
                r"[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))*((?=[\p{L}])([^A-Z]))+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?((?=[\p{L}])([^a-z]))+((?=[\p{L}])([^A-Z]))*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ],
        ),
        ("bloom", &[r" ?[^(\s|.,!?…。，、।۔،)]+"]),
        ("viking", &[r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"]),
    ];

    const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

    fn by_regex<'a>(patterns: &[Regex], text: &'a str) -> Vec<&'a str> {
        patterns.iter().fold(vec![text], |pieces, r| {
            let mut out = Vec::new();
            for p in pieces {
                let mut start = 0;
                for m in r.find_iter(p) {
                    let m = m.unwrap();
                    out.extend([&p[start..m.start()], m.as_str()]);
                    start = m.end();
                }
                out.push(&p[start..]);
            }
            out.retain(|p| !p.is_empty());
            out
        })
    }

    fn ours<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
        let mut out = Vec::new();
        PreTokenizer::named(name).unwrap().words(text, &mut |w| out.push(w));
        out
    }

    /// Pieces from which texts are put together: every class, and what patterns look for.
    const PARTS: &[&str] = &[
        " ", "  ", "\n", "\r\n", "\t", "\u{a0}", "\u{85}", "a", "Zq", "B", "é", "É", "ß", "日", "가", "か", "ʼ", "1",
        "23", "٣", "½", "Ⅷ", "'", "'s", "'S", "'ll", "'Re", "'t", "!", "?", "/", "$", "`", "|", "~", "+", "(", ".",
        ",", "—", "…", "。", "€", "🦀", "\u{301}", "\u{93e}", "\u{200b}", "\u{0}", "µ", "ж", "Ω", "。", "、", "‘",
        "ａ",
    ];

    #[test]
    fn patterns_agree_with_their_regular_expressions() {
        let mut seed = 7u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % n
        };
        for (name, regexes) in REGEXES {
            let regexes: Vec<Regex> = regexes.iter().map(|r| Regex::new(r).unwrap()).collect();
            for _ in 0..1500 {
                // Sometimes few different parts, so that runs of them come up.
                let few = 1 + random(PARTS.len());
                let from = random(PARTS.len());
                let text: String = (0..random(14)).map(|_| PARTS[(from + random(few)) % PARTS.len()]).collect();
                assert_eq!(ours(name, &text), by_regex(&regexes, &text), "{name}: {text:?}");
            }
        }
    }

    #[test]
    fn cased_ranges_are_sorted_and_cased() {
        assert!(CASED.windows(2).all(|w| w[0].1 < w[1].0));
        for &(a, b) in CASED {
            let letter = |c: u32| char::from_u32(c).is_some_and(|c| class(c) == Class::Letter);
            assert!(a <= b && letter(a) && letter(b), "{a:x} to {b:x}");
        }
    }

    #[test]
    fn time_is_linear() {
        // Quadratic work would take minutes.
        for unit in [" ", "\n", "a", "1", "'", "!", "\u{301}", "A", "É", " \n", "a ", "é日", "\u{3000}"] {
            let mut text = unit.repeat((1 << 18) / unit.len());
            text.push('x');
            for row in TABLE {
                let mut bytes = 0;
                PreTokenizer::named(row.names[0]).unwrap().words(&text, &mut |w| bytes += w.len());
                assert_eq!(bytes, text.len(), "nothing is lost");
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = PreTokenizer::names().collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
        assert!(PreTokenizer::named("no-such").is_none());
    }
}
