//! The courses that the suite takes an executor through, and what it looks at on the way.
//!
//! A case whose conditions another case has shown not to hold is left out, so that one fault is one
//! finding.

use std::collections::BTreeMap;

use serde_json::json;

use super::host::Host;
use super::{Check, Conduct, ConformanceReport, Limits, Stage, Subject, Verdict};
use crate::domain::{Epoch, EventUid, StartReason, Token};
use crate::extension::executor::{Credentials, Exit, InjectError, Injection, Metadata, Report};

/// A case ends early where going on would show nothing; whatever stood in the way is in the ledger.
type Course = Result<(), Over>;

/// The rest of a case has no sense.
#[derive(Debug)]
struct Over;

/// One course: the process it needs, and the checks without which it shows nothing.
struct Plan {
    conduct: Conduct,
    needs: &'static [Check],
    course: fn(&mut Case<'_>) -> Course,
}

const PLANS: [Plan; 9] = [
    Plan { conduct: Conduct::Cooperates, needs: &[], course: cooperating },
    Plan { conduct: Conduct::Ignores, needs: &[Check::AcceptsWhileRunning], course: ignoring },
    Plan { conduct: Conduct::Crashes, needs: &[Check::ConsumesWhatItAccepts], course: crashing },
    Plan { conduct: Conduct::Cooperates, needs: &[Check::Runs], course: unheld },
    Plan {
        conduct: Conduct::Cooperates,
        needs: &[Check::ConsumesWhatItAccepts],
        course: recovering,
    },
    Plan { conduct: Conduct::Cooperates, needs: &[Check::Runs], course: recovering_the_ended },
    Plan { conduct: Conduct::Cooperates, needs: &[Check::ConsumesWhatItAccepts], course: resuming },
    Plan { conduct: Conduct::Cooperates, needs: &[Check::ConsumesWhatItAccepts], course: unheard },
    Plan { conduct: Conduct::Stays, needs: &[Check::Runs], course: interrupting },
];

/// Takes an executor through every course.
pub(super) fn run(subject: &(impl Subject + ?Sized)) -> ConformanceReport {
    let mut ledger = Ledger::default();
    for plan in &PLANS {
        if ledger.failed(Check::AdvertisesInject)
            || plan.needs.iter().any(|need| !ledger.holds(*need))
        {
            continue;
        }
        let stage = subject.stage(plan.conduct);
        let mut case = Case::new(&*stage, subject.limits(), &mut ledger);
        // What ended it early is in the ledger.
        let (Ok(()) | Err(Over)) = (plan.course)(&mut case);
        case.judge();
        case.clear();
    }
    ledger.closed()
}

/// What came of each check so far.
#[derive(Debug, Default)]
struct Ledger(BTreeMap<Check, Verdict>);

impl Ledger {
    /// Enters that a check holds here, or what was seen instead. The first thing seen stays.
    fn enter(&mut self, check: Check, holds: bool, seen: impl FnOnce() -> String) {
        let entry = self.0.entry(check).or_insert(Verdict::Passed);
        match (&entry, holds) {
            (Verdict::Failed(_), _) | (Verdict::Passed, true) => {}
            (Verdict::NotJudged(_), true) => *entry = Verdict::Passed,
            (Verdict::NotJudged(_) | Verdict::Passed, false) => *entry = Verdict::Failed(seen()),
        }
    }

    fn not_judged(&mut self, check: Check, why: &str) {
        self.0.entry(check).or_insert_with(|| Verdict::NotJudged(why.to_owned()));
    }

    fn failed(&self, check: Check) -> bool {
        matches!(self.0.get(&check), Some(Verdict::Failed(_)))
    }

    fn holds(&self, check: Check) -> bool {
        matches!(self.0.get(&check), Some(Verdict::Passed))
    }

    fn closed(mut self) -> ConformanceReport {
        let failed: Vec<_> =
            Check::ALL.into_iter().filter(|check| self.failed(*check)).map(Check::name).collect();
        let why = format!("nothing shows it while {} fails", failed.join(", "));
        for check in Check::ALL {
            self.not_judged(check, &why);
        }
        ConformanceReport::new(self.0)
    }
}

/// What was answered to an Event over a case.
#[derive(Debug, Clone, Copy, Default)]
struct Offered {
    accepted: bool,
    denied: bool,
}

/// One course under way.
struct Case<'a> {
    stage: &'a dyn Stage,
    limits: Limits,
    ledger: &'a mut Ledger,
    /// Every Event that was offered.
    offered: BTreeMap<EventUid, Offered>,
    /// The segments of the attempt, with what was reported of each last.
    segments: Vec<(Metadata, Report)>,
}

impl<'a> Case<'a> {
    fn new(stage: &'a dyn Stage, limits: Limits, ledger: &'a mut Ledger) -> Self {
        Self { stage, limits, ledger, offered: BTreeMap::new(), segments: Vec::new() }
    }

    fn expect(&mut self, check: Check, holds: bool, seen: impl FnOnce() -> String) {
        self.ledger.enter(check, holds, seen);
    }

    /// What has to be so for the case to go on.
    fn must<T>(&mut self, check: Check, answer: Result<T, String>) -> Result<T, Over> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(seen) => {
                self.expect(check, false, || seen);
                Err(Over)
            }
        }
    }

    fn host(&mut self) -> Result<Host, Over> {
        let host = Host::start(self.stage, self.limits);
        self.must(Check::Runs, host)
    }

    /// Starts the attempt's first segment.
    fn launch(&mut self, host: &Host) -> Result<Metadata, Over> {
        let launched = host.launch(&self.stage.request());
        let metadata = self.must(Check::Runs, launched)?;
        self.segments.push((metadata.clone(), Report::default()));
        Ok(metadata)
    }

    /// Offers an Event to a process that runs and reads, until it is known what became of it.
    fn accepted(&mut self, host: &Host, metadata: &Metadata, event: EventUid) -> Course {
        let answer = self.settled(host, metadata, event)?;
        let holds = answer.is_ok();
        self.expect(Check::AcceptsWhileRunning, holds, || {
            format!("{event} was offered to a running process: {}", said(&answer))
        });
        if holds { Ok(()) } else { Err(Over) }
    }

    /// Offers an Event, and again for as long as nobody can tell, as a host does. POLICY-17
    fn settled(
        &mut self,
        host: &Host,
        metadata: &Metadata,
        event: EventUid,
    ) -> Result<Result<(), InjectError>, Over> {
        let mut repeated = false;
        let mut last = Ok(());
        let mut stalled = None;
        host.until(|| match host.inject(metadata, &injection(event, repeated)) {
            Ok(answer) => {
                let vague = matches!(answer, Err(InjectError::Ambiguous { .. }));
                repeated |= vague;
                last = answer;
                !vague
            }
            Err(seen) => {
                stalled = Some(seen);
                true
            }
        });
        if let Some(seen) = stalled {
            return self.must(Check::AcceptsWhileRunning, Err(seen));
        }
        self.note(event, &last);
        Ok(last)
    }

    /// Offers an Event once.
    fn offer(
        &mut self,
        host: &Host,
        metadata: &Metadata,
        event: EventUid,
        repeated: bool,
    ) -> Result<Result<(), InjectError>, Over> {
        let answer = host.inject(metadata, &injection(event, repeated));
        let answer = self.must(Check::AcceptsWhileRunning, answer)?;
        self.note(event, &answer);
        Ok(answer)
    }

    fn note(&mut self, event: EventUid, answer: &Result<(), InjectError>) {
        let offered = self.offered.entry(event).or_default();
        offered.accepted |= answer.is_ok();
        offered.denied |= matches!(answer, Err(InjectError::NotAccepting { .. }));
    }

    /// Gives the process the time to take these in; whether it did is judged by the report.
    fn taken_in(&self, host: &Host, events: &[EventUid]) {
        host.until(|| {
            let taken = self.stage.taken_in();
            events.iter().all(|event| taken.contains(event))
        });
    }

    /// Lets the process come to its end.
    fn end(&mut self, host: &Host, metadata: &Metadata) -> Result<Exit, Over> {
        self.stage.cue();
        let exit = host.observe(metadata);
        self.must(Check::Runs, exit)
    }

    /// What is reported of a segment that has ended, which no second question changes.
    fn report(&mut self, host: &Host, metadata: &Metadata) -> Result<Report, Over> {
        let (first, second) = (host.report(metadata), host.report(metadata));
        let first = self.must(Check::Runs, first)?;
        let second = self.must(Check::Runs, second)?;
        self.expect(Check::ReportIsFinal, first == second, || {
            format!("asked twice it answered {} and then {}", named(&first), named(&second))
        });
        if let Some((_, last)) = self.segments.iter_mut().find(|(segment, _)| segment == metadata) {
            last.clone_from(&first);
        }
        Ok(first)
    }

    /// Offers an Event that nobody has offered before to what has ended.
    fn refused_after_the_end(&mut self, host: &Host, metadata: &Metadata) -> Course {
        let event = EventUid::new();
        let answer = self.offer(host, metadata, event, false)?;
        let seen = |answer: &Result<(), InjectError>| {
            format!("{event} was first offered after the end: {}", said(answer))
        };
        self.expect(Check::RefusesAfterTheEnd, answer.is_err(), || seen(&answer));
        let vague = matches!(answer, Err(InjectError::Ambiguous { .. }));
        self.expect(Check::IsCertainAfterTheEnd, !vague, || seen(&answer));
        Ok(())
    }

    /// Whether a report names all of these.
    fn reported(&mut self, check: Check, report: &Report, events: &[EventUid], when: &str) {
        let missing = events.iter().find(|event| !report.consumed.contains(event));
        let taken = self.stage.taken_in();
        self.expect(check, missing.is_none(), || {
            let event = missing.map(ToString::to_string).unwrap_or_default();
            let took = missing.is_some_and(|event| taken.contains(event));
            let took = if took { "took it in" } else { "never took it in" };
            format!("{event} was accepted, the process {took}, and {when} names {}", named(report))
        });
    }

    /// What holds whatever the course was.
    fn judge(&mut self) {
        let taken = self.stage.taken_in();
        let mut times: BTreeMap<EventUid, u32> = BTreeMap::new();
        for event in self.segments.iter().flat_map(|(_, report)| report.consumed.clone()) {
            *times.entry(event).or_default() += 1;
        }
        if times.is_empty() && self.offered.is_empty() {
            return;
        }
        let claimed =
            times.keys().find(|event| !taken.contains(event) || !self.offered.contains_key(event));
        let claimed = claimed.copied();
        self.expect(Check::ClaimsOnlyWhatWasTakenIn, claimed.is_none(), || {
            let event = claimed.map(|event| event.to_string()).unwrap_or_default();
            format!("{event} is reported as consumed, and the process did not take it in")
        });
        let again = times.iter().find(|(_, times)| **times > 1);
        self.expect(Check::ReportsOnce, again.is_none(), || {
            let (event, times) =
                again.map(|(event, times)| (event.to_string(), *times)).unwrap_or_default();
            format!("{event} is reported as consumed {times} times")
        });
        let denied =
            self.offered.iter().find(|(event, offered)| offered.denied && taken.contains(event));
        let denied = denied.map(|(event, offered)| (*event, *offered));
        self.expect(Check::DeniesOnlyWhatWasNotDelivered, denied.is_none(), || {
            let (event, offered) =
                denied.map(|(event, o)| (event.to_string(), o)).unwrap_or_default();
            let before = if offered.accepted { ", after it was accepted" } else { "" };
            format!("{event} was answered as not accepting{before}, and the process took it in")
        });
    }

    /// Leaves nothing running.
    fn clear(self) {
        let Ok(host) = Host::start(self.stage, self.limits) else { return };
        for (metadata, _) in &self.segments {
            // What cannot be stopped has been found before, or is the stage's to end.
            drop(host.stop(metadata));
        }
    }
}

/// The ordinary course, with an Event that is offered twice.
fn cooperating(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    let injects = host.executor().capabilities().injects;
    case.expect(Check::AdvertisesInject, injects, || {
        "its capabilities say that it does not".to_owned()
    });
    if !injects {
        return Err(Over);
    }
    let metadata = case.launch(&host)?;
    let (one, other) = (EventUid::new(), EventUid::new());
    case.accepted(&host, &metadata, one)?;
    // Perhaps its host did not hear the answer.
    let (Ok(()) | Err(_)) = case.offer(&host, &metadata, one, true)?;
    case.accepted(&host, &metadata, other)?;
    case.taken_in(&host, &[one, other]);
    case.end(&host, &metadata)?;
    let report = case.report(&host, &metadata)?;
    case.expect(Check::Runs, true, String::new);
    case.reported(Check::ConsumesWhatItAccepts, &report, &[one, other], "the final report");
    case.refused_after_the_end(&host, &metadata)?;
    // Known already, and offered again after the end: not denied, for it was delivered.
    let (Ok(()) | Err(_)) = case.offer(&host, &metadata, one, true)?;
    let late = case.report(&host, &metadata)?;
    case.expect(Check::ReportIsFinal, report == late, || {
        format!("it named {} and, after further offers, {}", named(&report), named(&late))
    });
    Ok(())
}

/// An Event is accepted and the process leaves without it.
fn ignoring(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    let metadata = case.launch(&host)?;
    case.accepted(&host, &metadata, EventUid::new())?;
    case.accepted(&host, &metadata, EventUid::new())?;
    case.end(&host, &metadata)?;
    case.report(&host, &metadata)?;
    case.refused_after_the_end(&host, &metadata)
}

/// The process takes an Event in and then fails.
fn crashing(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    let metadata = case.launch(&host)?;
    let event = EventUid::new();
    case.accepted(&host, &metadata, event)?;
    case.taken_in(&host, &[event]);
    case.end(&host, &metadata)?;
    let report = case.report(&host, &metadata)?;
    case.reported(Check::ProofSurvivesFailure, &report, &[event], "the report of the failure");
    case.refused_after_the_end(&host, &metadata)
}

/// An instance is asked for what it never started nor recovered.
fn unheld(case: &mut Case<'_>) -> Course {
    let (holder, other) = (case.host()?, case.host()?);
    let metadata = case.launch(&holder)?;
    let nobodys = Metadata("{\"of\":\"nobody\"}".to_owned());
    for (asked, whose) in [(&metadata, "another instance's"), (&nobodys, "nobody's")] {
        let event = EventUid::new();
        let answer = case.offer(&other, asked, event, false)?;
        let refused = matches!(answer, Err(InjectError::NotAccepting { .. }));
        case.expect(Check::RefusesWhatItDoesNotHold, refused, || {
            format!("{event} was offered for a segment that is {whose}: {}", said(&answer))
        });
    }
    case.end(&holder, &metadata)?;
    case.report(&holder, &metadata).map(drop)
}

/// The host dies under a running process, and another takes over, and another after its end.
fn recovering(case: &mut Case<'_>) -> Course {
    let first = case.host()?;
    let metadata = case.launch(&first)?;
    let (before, after) = (EventUid::new(), EventUid::new());
    case.accepted(&first, &metadata, before)?;
    case.taken_in(&first, &[before]);
    drop(first);

    let second = case.host()?;
    taken_over(case, &second, &metadata, 2)?;
    // The first may not have heard the answer, so that the second offers it once more.
    let (Ok(()) | Err(_)) = case.offer(&second, &metadata, before, true)?;
    // Without a way to a process that it did not start it may refuse, with certainty.
    let accepted = case.settled(&second, &metadata, after)?.is_ok();
    let early: &[EventUid] = if accepted { &[before, after] } else { &[before] };
    case.taken_in(&second, early);
    let exit = case.end(&second, &metadata)?;
    let report = case.report(&second, &metadata)?;
    case.reported(Check::ProofSurvivesRecovery, &report, &[before], "the recovering instance");
    if accepted {
        case.reported(Check::ConsumesAfterRecovery, &report, &[after], "the final report");
    } else {
        case.ledger
            .not_judged(Check::ConsumesAfterRecovery, "it is not accepting after a recovery");
    }
    drop(second);

    let third = case.host()?;
    taken_over(case, &third, &metadata, 3)?;
    let again = third.observe(&metadata);
    let again = case.must(Check::Runs, again)?;
    case.expect(Check::Runs, exit == again, || format!("its end was {exit:?}, and then {again:?}"));
    let late = case.report(&third, &metadata)?;
    // Where the second has lost it, that was found.
    case.expect(Check::ProofSurvivesRecovery, report.consumed == late.consumed, || {
        format!("it named {}, and {} once recovered after its end", named(&report), named(&late))
    });
    case.refused_after_the_end(&third, &metadata)
}

/// The process ends while no host is there.
fn recovering_the_ended(case: &mut Case<'_>) -> Course {
    let first = case.host()?;
    let metadata = case.launch(&first)?;
    drop(first);
    case.stage.cue();
    let second = case.host()?;
    taken_over(case, &second, &metadata, 2)?;
    case.end(&second, &metadata)?;
    case.refused_after_the_end(&second, &metadata)
}

/// A host takes a segment over, under a secret of its own.
fn taken_over(case: &mut Case<'_>, host: &Host, metadata: &Metadata, epoch: u8) -> Course {
    let credentials = Credentials { epoch: Epoch(epoch.into()), token: secret(epoch) };
    let recovered = host.recover(metadata, &credentials);
    case.must(Check::Runs, recovered)?;
    let (check, seen) = (Check::ReplacesCredentialsOnRecovery, "after recover answered");
    replaced(case, check, metadata, epoch, seen);
    let proceeded = host.proceed(metadata);
    case.must(Check::Runs, proceeded)
}

/// The attempt parks and goes on in another segment.
fn resuming(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    if !host.executor().capabilities().resumes {
        let why = "it does not resume";
        case.ledger.not_judged(Check::ReplacesCredentialsOnResume, why);
        return Ok(());
    }
    let parked = case.launch(&host)?;
    let event = EventUid::new();
    case.accepted(&host, &parked, event)?;
    case.taken_in(&host, &[event]);
    case.end(&host, &parked)?;
    case.report(&host, &parked)?;

    let mut request = case.stage.request();
    (request.epoch, request.token, request.reason) = (Epoch(2), secret(2), StartReason::Resume);
    let resumed = host.resume(&request);
    let resumed = case.must(Check::Runs, resumed)?;
    case.segments.push((resumed.clone(), Report::default()));
    let (check, seen) = (Check::ReplacesCredentialsOnResume, "after resume answered");
    replaced(case, check, &resumed, 2, seen);
    let proceeded = host.proceed(&resumed);
    case.must(Check::Runs, proceeded)?;
    case.end(&host, &resumed)?;
    case.report(&host, &resumed).map(drop)
}

fn replaced(case: &mut Case<'_>, check: Check, segment: &Metadata, epoch: u8, seen: &str) {
    match case.stage.token(segment) {
        Some(found) => {
            let new = found == secret(epoch);
            case.expect(check, new, || {
                format!("{seen} the process would still find another secret")
            });
        }
        None => {
            case.ledger.not_judged(check, "the executor leaves no secret that the stage can see")
        }
    }
}

/// An Event is delivered, and whoever sent it does not hear so.
fn unheard(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    let metadata = case.launch(&host)?;
    let event = EventUid::new();
    if !case.stage.lose_next_answer() {
        case.ledger.not_judged(Check::SaysWhenItCannotTell, "the stage loses no answers");
        return Ok(());
    }
    let answer = host.inject(&metadata, &injection(event, false));
    let answer = case.must(Check::AcceptsWhileRunning, answer)?;
    let vague = matches!(answer, Err(InjectError::Ambiguous { .. }));
    case.expect(Check::SaysWhenItCannotTell, vague, || {
        format!("{event} was delivered and its answer lost: {}", said(&answer))
    });
    if !vague {
        return Err(Over);
    }
    // Again, as a host does, and accepted now; what is said against that is judged with the rest.
    let (Ok(()) | Err(_)) = case.settled(&host, &metadata, event)?;
    case.taken_in(&host, &[event]);
    case.end(&host, &metadata)?;
    let report = case.report(&host, &metadata)?;
    case.reported(Check::ConsumesWhatItAccepts, &report, &[event], "the final report");
    Ok(())
}

/// A process that does not end by itself is interrupted and stopped.
fn interrupting(case: &mut Case<'_>) -> Course {
    let host = case.host()?;
    let metadata = case.launch(&host)?;
    if host.executor().capabilities().interrupts {
        for _ in 0..2 {
            let told = host.interrupt(&metadata);
            let told = case.must(Check::TellsOfAnInterrupt, told)?;
            case.expect(Check::TellsOfAnInterrupt, told.is_ok(), || {
                format!("a running process was interrupted: {}", told.err().unwrap_or_default())
            });
        }
        let nobodys = host.interrupt(&Metadata("{\"of\":\"nobody\"}".to_owned()));
        let nobodys = case.must(Check::ClaimsNoInterruptItCannotMake, nobodys)?;
        case.expect(Check::ClaimsNoInterruptItCannotMake, nobodys.is_err(), || {
            "an interrupt of a segment that nobody knows was answered as told".to_owned()
        });
    } else {
        case.ledger.not_judged(Check::TellsOfAnInterrupt, "it does not advertise interrupt");
        let told = host.interrupt(&metadata);
        let told = case.must(Check::ClaimsNoInterruptItCannotMake, told)?;
        case.expect(Check::ClaimsNoInterruptItCannotMake, told.is_err(), || {
            "an interrupt that it does not advertise was answered as told".to_owned()
        });
    }
    let stopped = host.stop(&metadata);
    case.must(Check::StopEnds, stopped)?;
    let runs = case.stage.runs();
    case.expect(Check::StopEnds, !runs, || "stop answered, and a process of it runs".to_owned());
    if runs {
        return Err(Over);
    }
    let ended = host.observe(&metadata);
    case.must(Check::StopEnds, ended)?;
    case.report(&host, &metadata)?;
    case.refused_after_the_end(&host, &metadata)
}

/// The secret of an epoch of the suite's.
fn secret(epoch: u8) -> Token {
    Token::from_bytes([0xc0 | epoch; 32])
}

fn injection(event: EventUid, repeated: bool) -> Injection {
    let body = json!({
        "specversion": "1.0",
        "id": event.to_string(),
        "source": "conformance",
        "type": "conformance.note",
        "data": {"note": "take this in"},
    });
    Injection { event, body, repeated }
}

fn said(answer: &Result<(), InjectError>) -> String {
    match answer {
        Ok(()) => "it was accepted".to_owned(),
        Err(error) => format!("it was answered `{error}`"),
    }
}

fn named(report: &Report) -> String {
    if report.consumed.is_empty() {
        return "nothing".to_owned();
    }
    let names: Vec<_> = report.consumed.iter().map(ToString::to_string).collect();
    names.join(", ")
}
