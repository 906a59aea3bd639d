//! The model that is asked, and a gateway's settings that name it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use gateway::GatewaySettings;
use provider::{Provider, ProviderConfig, ProviderKind};
use scripted_model::{Answer, ScriptedModel, Wire};

/// The model's name at its provider.
pub(crate) const MODEL: &str = "claude-opus-5";

/// The scripted model as a provider, asked in Anthropic's words.
pub(crate) fn provider(model: &ScriptedModel) -> anyhow::Result<Provider> {
    at(&model.base_url(Wire::Anthropic))
}

/// A scripted model of another process.
pub(crate) fn at(base_url: &str) -> anyhow::Result<Provider> {
    Ok(Provider::new(ProviderConfig::new("scripted", ProviderKind::Anthropic, base_url))?)
}

/// Lets a gateway ask a provider, and no other.
pub(crate) fn install(settings: &mut GatewaySettings, provider: Provider) {
    settings.agent.default_model = Some(format!("{}/{MODEL}", provider.name()));
    settings.agent.providers = [provider].into_iter().collect();
}

/// About six hundred characters, others for every number: texts that were counted before would cost less.
pub(crate) fn text(number: usize) -> String {
    let sentence =
        "A short sentence that says little, but says it with words that a model could have chosen. ";
    format!("Number {number}. {}", sentence.repeat(6))
}

/// Time of the latest request.
#[derive(Clone)]
pub(crate) struct Asked(Arc<Mutex<Instant>>);

impl Asked {
    /// Lets a model answer what a function makes of the count of its answers, and notes when.
    pub(crate) fn note(model: &ScriptedModel, answer: impl Fn(usize) -> Answer + Send + 'static) -> Self {
        let asked = Self(Arc::new(Mutex::new(Instant::now())));
        let noted = asked.clone();
        let mut answers = 0;
        model.answer_by(move |request| {
            *noted.0.lock().unwrap_or_else(PoisonError::into_inner) = request.at;
            answers += 1;
            answer(answers)
        });
        asked
    }

    pub(crate) fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
