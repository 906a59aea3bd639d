//! The two text formats, and the choice between them.

/// Format of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    /// Prometheus' own format, which every tool reads.
    Prometheus,
    OpenMetrics,
}

const OPEN_METRICS: &str = "application/openmetrics-text";

impl MetricsFormat {
    /// Returns the format that a client prefers by its `Accept` header. Without a preference it is Prometheus'.
    pub(crate) fn accepted(accept: &str) -> Self {
        let mut best = (Self::Prometheus, 0.0);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let format = match parts.next().unwrap_or_default() {
                OPEN_METRICS => Self::OpenMetrics,
                "text/plain" | "text/*" | "*/*" => Self::Prometheus,
                _ => continue,
            };
            let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
            if quality > best.1 {
                best = (format, quality);
            }
        }
        best.0
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Converts a text in the format of OpenMetrics.
    pub(super) fn convert(self, text: String) -> String {
        match self {
            Self::OpenMetrics => text,
            Self::Prometheus => classic(&text),
        }
    }
}

/// Converts OpenMetrics to Prometheus' format: it has no end mark, and the comments of a counter name its samples.
fn classic(text: &str) -> String {
    let is_counter = |name: &str| text.contains(&format!("# TYPE {name} counter\n"));
    let mut converted = String::with_capacity(text.len());
    for line in text.lines() {
        let comment = line.strip_prefix("# ").and_then(|comment| {
            let (kind, rest) = comment.split_once(' ')?;
            let (name, rest) = rest.split_once(' ')?;
            Some((kind, name, rest))
        });
        match comment {
            _ if line == "# EOF" => continue,
            Some(("UNIT", ..)) => continue,
            Some((kind, name, rest)) if is_counter(name) => {
                converted.push_str(&format!("# {kind} {name}_total {rest}"));
            }
            _ => converted.push_str(line),
        }
        converted.push('\n');
    }
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_header_chooses_the_format() {
        for (accept, expected) in [
            ("", MetricsFormat::Prometheus),
            ("*/*", MetricsFormat::Prometheus),
            ("text/plain", MetricsFormat::Prometheus),
            ("application/openmetrics-text", MetricsFormat::OpenMetrics),
            // What Prometheus sends.
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                 text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                MetricsFormat::OpenMetrics,
            ),
            ("text/plain;q=0.9, application/openmetrics-text;q=0.1", MetricsFormat::Prometheus),
            ("application/openmetrics-text;q=0", MetricsFormat::Prometheus),
            ("image/png", MetricsFormat::Prometheus),
        ] {
            assert_eq!(MetricsFormat::accepted(accept), expected, "{accept}");
        }
    }

    #[test]
    fn counters_keep_their_suffix_in_comments() {
        let text =
            "# HELP a Things.\n# TYPE a counter\na_total 1\n# HELP b Now.\n# TYPE b gauge\nb 2\n# EOF\n";
        assert_eq!(
            classic(text),
            "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\n# HELP b Now.\n# TYPE b gauge\nb 2\n"
        );
    }
}
