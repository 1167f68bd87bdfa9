//! A trace as a self-contained page: no script, no link, nothing fetched.
//!
//! Where a recorded outcome or view parts from the model's, both stand side by side.

use std::fmt::Write;

use crate::law::Law;
use crate::sequence::{escape, svg};
use crate::story::{Told, tell, view_facts};
use crate::trace::{Line, Trace, Unreadable};

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
h2{font-size:1rem;margin:1.2rem 0 .2rem}table{border-collapse:collapse}td,th{padding:.1rem .6rem;text-align:left;\
border-bottom:1px solid #ddd;font:13px ui-monospace,monospace}.accepted{color:#063}.denied{color:#a60}\
.broken,.parts{color:#c00;font-weight:bold}";

/// The page of a trace.
///
/// # Errors
/// If the trace names what its world does not have.
pub fn html(trace: &Trace) -> Result<String, Unreadable> {
    let (law, actions) = trace.resolve()?;
    let mut page = head(law);
    page.push_str(&svg(law, &actions));
    for (nth, (told, line)) in (1..).zip(tell(law, &actions).iter().zip(&trace.lines)) {
        page.push_str(&section(law, nth, told, line));
    }
    page.push_str("</body></html>\n");
    Ok(page)
}

fn head(law: Law) -> String {
    let title = escape(law.world.name);
    let mutant = law.mutant.map_or_else(String::new, |mutant| {
        format!("<p>The law is broken here: {} ({}).</p>", escape(mutant.breaks()), mutant.name())
    });
    format!(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style></head>\
         <body><h1>{title}</h1><p>{}</p>{mutant}",
        escape(law.world.shows)
    )
}

fn section(law: Law, nth: usize, told: &Told, line: &Line) -> String {
    let class = if told.outcome.accepted() { "accepted" } else { "denied" };
    let mut out = format!(
        "<h2 id='step-{nth}'>{nth}. {}</h2><p class='{class}'>{}</p>",
        escape(&told.sentence),
        escape(&told.answer)
    );
    if !told.changes.is_empty() {
        let rows: String = told
            .changes
            .iter()
            .map(|change| format!("<tr><td>{}</td></tr>", escape(change)))
            .collect();
        let _ = write!(out, "<table>{rows}</table>");
    }
    if let Some(property) = told.broke {
        let _ = write!(
            out,
            "<p class='broken'>Broken: {} ({})</p>",
            escape(property.name),
            property.rules.join(", ")
        );
    }
    out.push_str(&parting(law, told, line));
    out
}

/// Recorded against expected, fact by fact; empty while they agree.
fn parting(law: Law, told: &Told, line: &Line) -> String {
    let mut rows = Vec::new();
    let expected = law.world.name_outcome(told.outcome);
    if expected != line.outcome {
        rows.push(("outcome".to_string(), format!("{expected:?}"), format!("{:?}", line.outcome)));
    }
    if let Some(seen) = &line.view {
        rows.extend(differing(&view_facts(&told.view), &view_facts(seen)));
    }
    if rows.is_empty() {
        return String::new();
    }
    let cells: String = rows
        .iter()
        .map(|(fact, model, seen)| {
            format!(
                "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(fact),
                escape(model),
                escape(seen)
            )
        })
        .collect();
    format!(
        "<p class='parts'>Here the record parts from the model.</p>\
         <table><tr><th>fact</th><th>model</th><th>recorded</th></tr>{cells}</table>"
    )
}

fn differing(
    model: &[(String, String)],
    seen: &[(String, String)],
) -> Vec<(String, String, String)> {
    let value = |facts: &[(String, String)], name: &str| {
        facts
            .iter()
            .find(|(known, _)| known == name)
            .map_or("-".to_string(), |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = model.iter().chain(seen).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .map(|name| (name.clone(), value(model, name), value(seen, name)))
        .filter(|(_, model, seen)| model != seen)
        .collect()
}
