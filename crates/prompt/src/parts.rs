//! The parts of a prompt that are sent separately.

use protocol::prompt::{PromptManifestSection, PromptRole, Stability};

use crate::join;

/// Sections joined by where they are sent. Sections that an earlier turn sent are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) stable_text: String,
    pub(crate) session_text: String,
    pub(crate) user_text: String,
    pub(crate) turn_text: String,
    /// All parts, in the order in which they are sent.
    pub(crate) full_text: String,
}

impl Parts {
    pub(crate) fn of<'a>(
        sections: impl Iterator<Item = (&'a PromptManifestSection, &'a str)> + Clone,
    ) -> Self {
        let part = |stability: Stability, role: PromptRole| {
            let own = sections.clone();
            let own = own.filter(|(section, _)| section.stability == stability && section.role == role);
            let own = own.filter(|(section, _)| !section.said_earlier);
            join(own.map(|(_, text)| text))
        };
        let stable_text = part(Stability::Stable, PromptRole::System);
        let session_text = part(Stability::Session, PromptRole::System);
        let user_text = part(Stability::Session, PromptRole::User);
        let turn_text = part(Stability::Turn, PromptRole::System);
        let full_text = join([stable_text.as_str(), &session_text, &user_text, &turn_text]);
        Self { stable_text, session_text, user_text, turn_text, full_text }
    }
}
