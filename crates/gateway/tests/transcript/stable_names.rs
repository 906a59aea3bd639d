//! Replaces values that differ between runs by stable names.

use crate::support::Stage;

/// Shapes of replaced values: `d` is a digit, `x` a hexadecimal digit, everything else itself.
const SHAPES: &[(&str, &str)] =
    &[("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "ID"), ("dddd-dd-dd dd:dd", "MINUTE"), ("dddd-dd-dd", "DATE")];

pub(super) fn replace(text: &str, stage: &Stage) -> String {
    let project = stage.path("");
    let mut text = text.replace(project.to_str().unwrap().trim_end_matches('/'), "/project");
    text = text.replace(stage.gateway.data().to_str().unwrap(), "/data");
    for (shape, name) in SHAPES {
        text = replace_shape(&text, shape, name);
    }
    without_file_times(&text)
}

/// Replaces values of a shape by a name and a number, in the order of their first occurrence.
fn replace_shape(text: &str, shape: &str, name: &str) -> String {
    let mut replaced = String::new();
    let mut known = Vec::<&str>::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if !has_shape(rest, shape) {
            replaced.push(next);
            rest = &rest[next.len_utf8()..];
            continue;
        }
        let (found, after) = rest.split_at(shape.len());
        let number = known.iter().position(|it| *it == found).unwrap_or_else(|| {
            known.push(found);
            known.len() - 1
        });
        replaced.push_str(&format!("{name}-{}", number + 1));
        rest = after;
    }
    replaced
}

fn has_shape(text: &str, shape: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= shape.len()
        && shape.bytes().zip(bytes).all(|(expected, byte)| match expected {
            b'd' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_hexdigit(),
            expected => *byte == expected,
        })
}

fn without_file_times(text: &str) -> String {
    const BEFORE: &str = "(mtime: ";
    let mut parts = text.split(BEFORE);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        replaced.push_str(BEFORE);
        replaced.push('…');
        replaced.push_str(part.trim_start_matches(|it: char| it.is_ascii_digit()));
    }
    replaced
}
