//! One HTML file that shows results, and needs nothing else.
//!
//! ```text
//!  | head: a policy that lets nothing in or out, styles | the results as JSON | uPlot | our scripts |
//! ```
//!
//! The page runs no script but those whose hashes its policy names, and loads nothing. Results are data in it, never markup:
//! what a broker calls itself is as foreign as what it sends. Our scripts are in `assets/report`, as they are edited; uPlot is
//! there when `make web` was run before the build, and without it the page shows its tables.

use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::compare::Comparison;
use super::thin::thin;
use crate::results::{self, Results, Run};

mod uplot {
    include!(concat!(env!("OUT_DIR"), "/uplot.rs"));
}

/// Samples that one run has in a page, at most.
const RUN_SAMPLES_MAX: usize = 2_000;
/// Samples that all runs of a page have together, about; a run has [`RUN_SAMPLES_MIN`] all the same.
const PAGE_SAMPLES_MAX: usize = 20_000;
/// Samples that one run of many has.
const RUN_SAMPLES_MIN: usize = 100;

const STYLE: &str = include_str!("../../assets/report.css");

/// In the order in which they need each other.
const SCRIPTS: [&str; 12] = [
    include_str!("../../assets/report/format.js"),
    include_str!("../../assets/report/dom.js"),
    include_str!("../../assets/report/chart.js"),
    include_str!("../../assets/report/picture.js"),
    include_str!("../../assets/report/numbers.js"),
    include_str!("../../assets/report/timeline.js"),
    include_str!("../../assets/report/curve.js"),
    include_str!("../../assets/report/breakdown.js"),
    include_str!("../../assets/report/sweep.js"),
    include_str!("../../assets/report/compare.js"),
    include_str!("../../assets/report/about.js"),
    include_str!("../../assets/report/page.js"),
];

/// What pages draw their charts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charts {
    /// uPlot, if it is built in.
    Drawn,
    /// Nothing: the tables alone, as if uPlot were not built in.
    Tables,
}

/// The page of one command's results.
#[must_use]
pub fn report(results: &Results, charts: Charts) -> String {
    let name = if results.name.is_empty() { "warren perf" } else { &results.name };
    page(name, &[(name, results)], None, charts)
}

/// The page of several results beside each other. The first is what the others are compared with.
#[must_use]
pub fn comparison(parts: &[(&str, &Results)], comparison: &Comparison, charts: Charts) -> String {
    let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
    page(&names.join(" and "), parts, Some(comparison), charts)
}

/// Writes a page, whole or not at all.
///
/// # Errors
///
/// When the file cannot be written.
pub fn save(path: &Path, page: &str) -> io::Result<()> {
    results::write_whole(path, page.as_bytes())
}

/// What the scripts are given.
#[derive(Serialize)]
struct PageData<'a> {
    names: Vec<&'a str>,
    results: Vec<Results>,
    comparison: Option<&'a Comparison>,
    thinned: usize,
}

fn page(title: &str, parts: &[(&str, &Results)], comparison: Option<&Comparison>, charts: Charts) -> String {
    let run_count = parts.iter().map(|(_, results)| results.runs.len()).sum::<usize>();
    let limit = (PAGE_SAMPLES_MAX / run_count.max(1)).clamp(RUN_SAMPLES_MIN, RUN_SAMPLES_MAX);
    let mut thinned = 1;
    let results = parts.iter().map(|(_, results)| shown(results, limit, &mut thinned)).collect();
    let names = parts.iter().map(|(name, _)| *name).collect();
    let data = PageData { names, results, comparison, thinned };
    let json = serde_json::to_string(&data).expect("results have only text for keys");

    let drawn = charts == Charts::Drawn;
    let license = uplot::UPLOT_LICENSE.filter(|_| drawn).map(|text| format!("/* uPlot:\n\n{}\n*/\n", text.trim()));
    let uplot = uplot::UPLOT_SCRIPT.filter(|_| drawn).map(|script| license.unwrap_or_default() + script);
    let styles: Vec<&str> = uplot::UPLOT_STYLE.filter(|_| drawn).into_iter().chain([STYLE]).collect();
    let scripts: Vec<&str> = uplot.as_deref().into_iter().chain(SCRIPTS).collect();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hashes(&scripts),
        hashes(&styles)
    );
    let wrap =
        |tag: &str, texts: &[&str]| texts.iter().map(|text| format!("<{tag}>{text}</{tag}>\n")).collect::<String>();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n{styles}</head>\n<body>\n<main id=\"page\"></main>\n\
         <noscript><p>This report is drawn by scripts, all of which are in this file: allow them to see it.</p></noscript>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n{scripts}</body>\n</html>\n",
        title = escape(title),
        styles = wrap("style", &styles),
        data = json.replace('<', "\\u003c"),
        scripts = wrap("script", &scripts),
    )
}

/// What the page shows of results: not the histograms, and no more samples than charts have room for.
fn shown(results: &Results, limit: usize, thinned: &mut usize) -> Results {
    let mut shown = Results { runs: Vec::with_capacity(results.runs.len()), ..clone_without_runs(results) };
    for run in &results.runs {
        let (samples, step) = thin(&run.samples, limit);
        *thinned = step.max(*thinned);
        let mut summary = run.summary.clone();
        let latencies = &mut summary.latencies;
        let all = [
            &mut latencies.consumer,
            &mut latencies.consumer_sent,
            &mut latencies.confirm,
            &mut latencies.confirm_sent,
            &mut latencies.lateness,
        ];
        let distributions = all.into_iter().flatten().chain(summary.probes.values_mut());
        distributions.for_each(|distribution| distribution.histogram.clear());
        shown.runs.push(Run {
            label: run.label.clone(),
            variables: run.variables.clone(),
            phases: run.phases.clone(),
            samples,
            summary,
            interrupted: run.interrupted.clone(),
            verdicts: run.verdicts.clone(),
        });
    }
    shown
}

/// Runs may be hundreds of megabytes, and are copied thinned.
fn clone_without_runs(results: &Results) -> Results {
    Results {
        schema: results.schema,
        version: results.version.clone(),
        name: results.name.clone(),
        description: results.description.clone(),
        command: results.command.clone(),
        workload: results.workload.clone(),
        started_at: results.started_at.clone(),
        seed: results.seed,
        machine: results.machine.clone(),
        broker: results.broker.clone(),
        agents: results.agents.clone(),
        generator_processors: results.generator_processors,
        runs: Vec::new(),
        warnings: results.warnings.clone(),
    }
}

fn hashes(texts: &[&str]) -> String {
    let hash = |text: &&str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text.as_bytes())));
    texts.iter().map(hash).collect::<Vec<_>>().join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram;
    use crate::results::{Broker, Distribution, Sample};

    const HOSTILE: &str = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\"'&";

    fn hostile() -> Results {
        Results {
            name: HOSTILE.to_owned(),
            description: HOSTILE.to_owned(),
            broker: Some(Broker { product: HOSTILE.to_owned(), ..Broker::default() }),
            ..Results::default()
        }
    }

    #[test]
    fn what_a_broker_says_never_becomes_markup() {
        let page = report(&hostile(), Charts::Drawn);
        assert!(!page.contains("<script>alert"), "a script came in");
        assert!(!page.contains("<img"), "an element came in");
        assert!(page.contains("<title>&lt;/script&gt;&lt;script&gt;alert(1)"), "the title is escaped");
        let (_, rest) = page.split_once("id=\"data\">").unwrap();
        let (data, _) = rest.split_once("</script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["results"][0]["broker"]["product"], HOSTILE);
    }

    #[test]
    fn scripts_and_styles_cannot_end_early() {
        let closes = |text: &&str| text.contains("</script") || text.contains("</style") || text.contains("<!--");
        assert!(!SCRIPTS.iter().any(closes), "a script contains what ends it");
        assert!(!closes(&STYLE));
        assert!(!uplot::UPLOT_SCRIPT.iter().any(closes));
    }

    #[test]
    fn policy_names_every_script_and_lets_nothing_else_in() {
        let page = report(&Results::default(), Charts::Tables);
        let (_, rest) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
        let (policy, _) = rest.split_once('"').unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert_eq!(policy.matches("'sha256-").count(), SCRIPTS.len() + 1, "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    }

    #[test]
    fn page_without_charts_has_no_uplot() {
        assert!(!report(&Results::default(), Charts::Tables).contains("uPlot=function"));
        let drawn = report(&Results::default(), Charts::Drawn);
        let has_charts = uplot::UPLOT_SCRIPT.is_some();
        assert_eq!(drawn.contains("uPlot=function"), has_charts);
        assert_eq!(drawn.contains("The MIT License"), has_charts, "its licence goes with it");
    }

    #[test]
    fn long_run_makes_a_small_page() {
        let mut latency = histogram::empty();
        (1..100_000).for_each(|us| histogram::record(&mut latency, std::time::Duration::from_micros(us)));
        let mut run = Run { samples: vec![Sample::default(); 100_000], ..Run::default() };
        run.summary.latencies.consumer = Distribution::of(&latency);
        let histogram = run.summary.latencies.consumer.as_ref().unwrap().histogram.clone();
        let page = report(&Results { runs: vec![run], ..Results::default() }, Charts::Tables);
        assert!(page.len() < 3_000_000, "{} bytes", page.len());
        assert!(page.contains("\"thinned\":50"));
        assert!(!page.contains(&histogram[..60]), "histograms are for merging, not for looking at");
    }
}
