//! Picture of how a prompt is made: files and documents, the prompt, the model, and the way back.
//!
//! It has a background of its own, so that it can be read on a dark page as on a light one.

use std::fmt::Write as _;

use super::svg::escape;

const STYLE: &str = "text { font: 14px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: #1c2733; }\n\
    .t { font-weight: 600; font-size: 16px; } .n { font-size: 12.5px; fill: #4d5b6a; } .m { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; font-size: 12.5px; }\n\
    .gone { fill: #8a96a3; text-decoration: line-through; } .why { fill: #1f6f4a; font-weight: 600; } .w { fill: #ffffff; font-weight: 600; font-size: 16px; }";

struct Picture {
    text: String,
}

impl Picture {
    fn card(&mut self, x: i32, y: i32, width: i32, height: i32, fill: &str, stroke: &str) {
        writeln!(
            self.text,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
        )
        .unwrap();
    }

    fn text(&mut self, x: i32, y: i32, class: &str, text: &str) {
        writeln!(self.text, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{}</text>", escape(text)).unwrap();
    }

    fn centred(&mut self, x: i32, y: i32, class: &str, text: &str) {
        let text = escape(text);
        writeln!(
            self.text,
            "<text x=\"{x}\" y=\"{y}\" class=\"{class}\" text-anchor=\"middle\">{text}</text>"
        )
        .unwrap();
    }

    fn arrow(&mut self, path: &str, colour: &str, end: &str) {
        writeln!(
            self.text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\" marker-end=\"url(#{end})\"/>"
        )
        .unwrap();
    }
}

const LINE: &str = "#b8c4d0";
const BLUE: &str = "#2f6fb3";
const ORANGE: &str = "#b3641f";
const GREEN: &str = "#1f8a5a";

pub(super) fn picture() -> String {
    let mut picture = Picture { text: String::new() };
    picture.card(1, 1, 938, 408, "#fbfcfd", LINE);
    files(&mut picture);
    documents(&mut picture);
    prompt(&mut picture);
    picture.arrow("M 272 113 C 335 113, 335 167, 392 167", BLUE, "blue");
    picture.arrow("M 272 317 C 350 317, 320 205, 392 205", ORANGE, "orange");
    picture.arrow("M 640 160 L 742 160", "#3b4754", "dark");
    picture.card(748, 110, 160, 100, "#2b3642", "#2b3642");
    picture.centred(828, 155, "w", "Model");
    picture.centred(828, 180, "w", "and its tools");
    picture.arrow("M 828 216 L 828 352 L 166 352 L 166 338", GREEN, "green");
    picture.centred(560, 343, "why", "why: explain · prompt manifest · prompt diff · turn explain");
    picture.centred(
        560,
        374,
        "n",
        "every part traced to its file, line and version; every past prompt again, byte for byte",
    );
    let markers: String =
        [("blue", BLUE), ("orange", ORANGE), ("dark", "#3b4754"), ("green", GREEN)].map(marker).concat();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"940\" height=\"410\" viewBox=\"0 0 940 410\">\n\
         <style>\n{STYLE}\n</style>\n<defs>\n{markers}</defs>\n{}</svg>\n",
        picture.text
    )
}

fn marker((name, colour): (&str, &str)) -> String {
    format!(
        "<marker id=\"{name}\" markerWidth=\"9\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\" markerUnits=\"userSpaceOnUse\">\
         <path d=\"M 0 0 L 9 4 L 0 8 z\" fill=\"{colour}\"/></marker>\n"
    )
}

fn files(picture: &mut Picture) {
    picture.text(32, 42, "t", "Files on disk are joined");
    for (index, name) in ["AGENTS.md", "services/AGENTS.md", "services/billing/AGENTS.md"].iter().enumerate()
    {
        let y = 58 + 40 * i32::try_from(index).unwrap();
        picture.card(32, y, 236, 30, "#e8f1fa", BLUE);
        picture.text(46, y + 20, "m", name);
        if index > 0 {
            picture.centred(256, y + 1, "t", "+");
        }
    }
}

fn documents(picture: &mut Picture) {
    picture.text(32, 212, "t", "Documents replace each other");
    for (index, (name, class)) in [
        ("of the workspace", "m gone"),
        ("of the folder services", "m gone"),
        ("of services/billing: counts", "m"),
    ]
    .into_iter()
    .enumerate()
    {
        let y = 226 + 38 * i32::try_from(index).unwrap();
        let counts = class == "m";
        let (fill, stroke) = if counts { ("#fbefe2", ORANGE) } else { ("#f4f6f8", LINE) };
        picture.card(32, y, 236, 30, fill, stroke);
        picture.text(46, y + 20, class, name);
    }
}

fn prompt(picture: &mut Picture) {
    picture.card(398, 34, 240, 262, "#ffffff", "#3b4754");
    picture.text(414, 62, "t", "Prompt");
    for (index, (name, fill, stroke)) in [
        ("identity, safety, persona", "#f4f6f8", LINE),
        ("tools and guidance", "#f4f6f8", LINE),
        ("agents_context: the files", "#e8f1fa", BLUE),
        ("agents_md: the document", "#fbefe2", ORANGE),
        ("date and what is new", "#f4f6f8", LINE),
    ]
    .into_iter()
    .enumerate()
    {
        let y = 76 + 38 * i32::try_from(index).unwrap();
        picture.card(414, y, 208, 30, fill, stroke);
        picture.text(426, y + 20, "m", name);
    }
    picture.text(414, 285, "n", "with its proof: the manifest");
}
