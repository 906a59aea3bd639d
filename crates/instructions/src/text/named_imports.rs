//! What a text asks an agent to import, whether or not it is there.

use crate::profile::{ImportSyntax, Profile};
use crate::text::mentions;
use crate::text::references;

/// A file that a text names with `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedImport {
    /// As the agent takes it; some take the punctuation behind a path for a part of it.
    pub path: String,
    /// Counted from 1, in the text.
    pub line: usize,
}

/// What a text names by an agent's rules, in its order; nothing where the agent takes it for text.
pub fn named_imports(text: &str, profile: &Profile) -> Vec<NamedImport> {
    let Some(imports) = profile.imports else { return Vec::new() };
    if imports.syntax == ImportSyntax::Words {
        let found = references::find(text).found.into_iter();
        // Without the punctuation behind it, which is tried last.
        let named = found.filter_map(|found| {
            let path = found.candidates().last()?.to_owned();
            Some(NamedImport { path, line: found.line })
        });
        return named.collect();
    }
    let mut line = 1;
    let mut counted = 0;
    let named = mentions::find(text, imports.syntax).into_iter().map(|mention| {
        line += text[counted..mention.range.start].matches('\n').count();
        counted = mention.range.start;
        NamedImport { path: mention.path, line }
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{CLAUDE_CODE, CODEX, FOREWORD, GEMINI_CLI};

    #[test]
    fn agents_take_words_differently() {
        let text = "See @a.md.\n\n`@b.md` and @c.md\n";
        let found = |profile| {
            let found = named_imports(text, profile);
            found.into_iter().map(|found| format!("{} {}", found.line, found.path)).collect::<Vec<_>>()
        };
        assert_eq!(found(&FOREWORD), ["1 a.md", "3 c.md"]);
        assert_eq!(found(&CLAUDE_CODE), ["1 a.md.", "3 c.md"]);
        assert_eq!(found(&GEMINI_CLI), ["1 a.md.", "3 c.md"]);
        assert_eq!(found(&CODEX), Vec::<String>::new());
    }
}
