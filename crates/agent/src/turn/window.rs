//! The windows of models, as their servers report them.
//!
//! Tokens are counted with one encoding for all models, and the size of a window is a setting. Servers correct both: the
//! usage of an answer shows how far the count is off, and a rejected request often names the limit.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use provider::{ContextOverrun, ModelName};

use crate::settings::TurnSettings;

/// Smaller requests are ignored: in them, the template of the model outweighs the text.
const LEAST_COUNTED: usize = 256;
/// Largest correction that is believed. A server that reports more does not mean the same request.
const MAX_CORRECTION: usize = 4;
/// Part of a window that is reserved for the answer at most.
const MAX_RESERVE_SHARE: usize = 4;

/// Windows of all models of this process.
#[derive(Debug, Default)]
pub(crate) struct Windows(Mutex<BTreeMap<ModelName, Window>>);

/// Knowledge about the window of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Window {
    /// Reported tokens per 1,000 counted ones. Never less than 1,000: a count that is too high does no harm.
    per_thousand: usize,
    /// Limit that the server has named, if it is lower than the configured one.
    limit: Option<usize>,
}

/// Tokens of a request and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowSize {
    /// Tokens of the request by our count.
    pub(crate) request: usize,
    /// Tokens of the answer.
    pub(crate) answer: usize,
}

impl Default for Window {
    fn default() -> Self {
        Self { per_thousand: 1_000, limit: None }
    }
}

impl Windows {
    /// Corrects the count of a model by the usage that its server reports for a request.
    pub(crate) fn learn_usage(&self, model: &ModelName, counted: usize, reported: u64) {
        let reported = usize::try_from(reported).unwrap_or(usize::MAX);
        if is_plausible(counted, reported) {
            let per_thousand = (reported * 1_000 / counted).max(1_000);
            self.0.lock().entry(model.clone()).or_default().per_thousand = per_thousand;
        }
    }

    /// Takes over the limit that a server has named for a rejected request.
    pub(crate) fn learn_overrun(&self, model: &ModelName, counted: usize, overrun: ContextOverrun) {
        let limit = usize::try_from(overrun.limit).unwrap_or(usize::MAX);
        let request = usize::try_from(overrun.request.unwrap_or(overrun.limit)).unwrap_or(usize::MAX);
        if !is_plausible(counted, request) {
            return;
        }
        self.0.lock().entry(model.clone()).or_default().limit = Some(limit);
        if overrun.request.is_some() {
            self.learn_usage(model, counted, request as u64);
        }
    }

    /// Estimates the tokens that a server will report for a request.
    pub(crate) fn reported(&self, model: &ModelName, counted: usize) -> u64 {
        (counted * self.of(model).per_thousand / 1_000) as u64
    }

    /// Returns the tokens that a request to a model and its answer may have.
    pub(crate) fn size(&self, model: &ModelName, settings: &TurnSettings) -> WindowSize {
        let window = self.of(model);
        let limit =
            window.limit.map_or(settings.max_context_tokens, |it| it.min(settings.max_context_tokens));
        // A server with a much smaller window than configured would otherwise have no room for a request.
        let answer = match window.limit {
            Some(_) => settings.response_reserve_tokens.min(limit / MAX_RESERVE_SHARE),
            None => settings.response_reserve_tokens,
        };
        WindowSize { request: limit.saturating_sub(answer) * 1_000 / window.per_thousand, answer }
    }

    fn of(&self, model: &ModelName) -> Window {
        self.0.lock().get(model).copied().unwrap_or_default()
    }
}

/// Returns true if a server's number can be that of the counted request.
fn is_plausible(counted: usize, reported: usize) -> bool {
    counted >= LEAST_COUNTED && reported <= counted.saturating_mul(MAX_CORRECTION) && reported * 2 >= counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> TurnSettings {
        TurnSettings { max_context_tokens: 10_000, response_reserve_tokens: 2_000, ..TurnSettings::default() }
    }

    fn size(change: impl FnOnce(&Windows, &ModelName)) -> (usize, usize) {
        let windows = Windows::default();
        let model: ModelName = "a/b".parse().unwrap();
        change(&windows, &model);
        let size = windows.size(&model, &settings());
        (size.request, size.answer)
    }

    #[test]
    fn reported_usage_corrects_the_count() {
        assert_eq!(size(|_, _| {}), (8_000, 2_000));
        assert_eq!(size(|windows, model| windows.learn_usage(model, 1_000, 1_250)), (6_400, 2_000));
        // A count that is too high stays, and numbers of another request are ignored.
        for (counted, reported) in [(1_000, 800), (1_000, 0), (1_000, 9_000), (100, 200)] {
            assert_eq!(size(|windows, model| windows.learn_usage(model, counted, reported)), (8_000, 2_000));
        }
        // The latest report counts.
        let learn = |windows: &Windows, model: &ModelName| {
            windows.learn_usage(model, 1_000, 2_000);
            windows.learn_usage(model, 1_000, 1_000);
        };
        assert_eq!(size(learn), (8_000, 2_000));
    }

    #[test]
    fn named_limits_replace_the_configured_one() {
        let overrun = |limit, request| ContextOverrun { limit, request };
        let of = |counted, overrun| size(|windows, model| windows.learn_overrun(model, counted, overrun));
        assert_eq!(of(5_000, overrun(4_096, Some(5_000))), (3_072, 1_024));
        assert_eq!(of(4_000, overrun(4_096, Some(5_000))), (2_457, 1_024));
        assert_eq!(of(5_000, overrun(4_096, None)), (3_072, 1_024));
        assert_eq!(of(5_000, overrun(4_000_000, Some(5_000))), (8_000, 2_000));
        assert_eq!(of(1_000, overrun(200_000, Some(200_251))), (8_000, 2_000));
    }
}
