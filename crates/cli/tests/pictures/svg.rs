//! Text in a picture, as a terminal shows it.

use std::fmt::Write as _;

/// Pixels of a letter and of a line, at the size of the letters below.
const LETTER: f64 = 8.0;
const LINE: usize = 19;
const MARGIN: usize = 18;

const STYLE: &str = "text { font: 13.3px ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #d6dde6; }\n\
    .b { font-weight: bold; } .d { fill: #8b96a3; } .r { fill: #ff8a80; } .g { fill: #7ee2a0; } .y { fill: #f0cc6a; }\n\
    .u { fill: #7fb8ff; } .c { fill: #6fdede; } .m { fill: #dba6ff; } .p { fill: #7ee2a0; font-weight: bold; }";

/// A part of a line in one style.
struct Run {
    column: usize,
    class: String,
    text: String,
}

/// A terminal with these lines in it; colours are the escape sequences of the text.
pub(super) fn terminal(text: &str) -> String {
    let lines: Vec<Vec<Run>> = text.lines().map(runs).collect();
    let columns = lines.iter().flatten().map(|run| run.column + run.text.chars().count()).max().unwrap_or(0);
    let width = (columns as f64 * LETTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>\n{STYLE}\n</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#10161d\" stroke=\"#39424d\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + LINE * index + LINE * 3 / 4;
        write!(picture, "<text y=\"{y}\" xml:space=\"preserve\">").unwrap();
        for run in line {
            // Every part has its place, so that columns stay columns in fonts of another width.
            let x = MARGIN as f64 + run.column as f64 * LETTER;
            let class =
                if run.class.is_empty() { String::new() } else { format!(" class=\"{}\"", run.class) };
            write!(picture, "<tspan x=\"{x}\"{class}>{}</tspan>", escape(&run.text)).unwrap();
        }
        picture.push_str("</text>\n");
    }
    picture + "</svg>\n"
}

/// The lines of text in such a picture, without styles.
pub(super) fn lines(picture: &str) -> Vec<String> {
    let lines = picture.lines().filter(|line| line.starts_with("<text"));
    let text = lines.map(|line| {
        // Text is compared without positions: figures may differ in length, and columns shift with them.
        let parts =
            line.split('<').filter_map(|tag| tag.starts_with("tspan").then(|| tag.split_once('>')).flatten());
        parts.map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    });
    text.collect()
}

pub(super) fn escape(text: &str) -> String {
    // The ampersand comes first, as the other replacements insert more of them.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Parts a line at its escape sequences and at wide gaps.
fn runs(line: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut column = 0;
    let mut bold = false;
    let mut colour = "";
    for (index, piece) in line.split('\u{1b}').enumerate() {
        let mut text = piece;
        if index > 0 {
            let (codes, rest) =
                piece.strip_prefix('[').and_then(|it| it.split_once('m')).unwrap_or(("", piece));
            text = rest;
            for code in codes.split(';') {
                match code {
                    "" | "0" => (bold, colour) = (false, ""),
                    "1" => bold = true,
                    "2" | "90" => colour = "d",
                    "31" | "91" => colour = "r",
                    "32" | "92" => colour = "g",
                    "33" | "93" => colour = "y",
                    "34" | "94" => colour = "u",
                    "35" | "95" => colour = "m",
                    "36" | "96" => colour = "c",
                    _ => {}
                }
            }
        }
        let class = [if bold { "b" } else { "" }, colour].join(" ").trim().to_owned();
        // A gap of two spaces begins a new part with its own position. Viewers may render runs of spaces in
        // different widths.
        for word in text.split_inclusive("  ") {
            let shown = word.trim_end_matches(' ');
            let indent = shown.chars().count() - shown.trim_start_matches(' ').chars().count();
            if !shown.trim().is_empty() {
                let text = shown.trim_start_matches(' ').to_owned();
                runs.push(Run { column: column + indent, class: class.clone(), text });
            }
            column += word.chars().count();
        }
    }
    runs
}

#[test]
fn a_terminal_keeps_columns_and_colours() {
    let picture = terminal("\u{1b}[1ma\u{1b}[0m  <b>   c\n");
    assert!(picture.contains("<tspan x=\"18\" class=\"b\">a</tspan>"), "{picture}");
    assert!(picture.contains("<tspan x=\"42\">&lt;b&gt;</tspan><tspan x=\"90\">c</tspan>"), "{picture}");
    assert_eq!(lines(&picture), ["a &lt;b&gt; c"]);
}
