//! Escaping for annotations of GitHub workflows.

/// Escapes the message of a workflow command.
pub fn annotation_data(text: &str) -> String {
    let mut data = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '%' => data.push_str("%25"),
            '\r' => data.push_str("%0D"),
            '\n' => data.push_str("%0A"),
            // Logs are shown in terminals and browsers, which untrusted text must not control.
            _ if character.is_control() || instructions::reorders_text(character) => {
                data.extend(character.escape_unicode())
            }
            _ => data.push(character),
        }
    }
    data
}

/// Escapes a property of a workflow command.
pub fn annotation_property(text: &str) -> String {
    annotation_data(text).replace(':', "%3A").replace(',', "%2C")
}
