//! Dates by the letters of `strftime`, in UTC.

use std::{
    fmt::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const SECS_PER_DAY: u64 = 86_400;

/// A day of the calendar.
struct CalendarDay {
    year: u64,
    /// From 0.
    month: usize,
    /// From 1.
    of_month: u64,
    /// Of the week, from Monday, and of the year, from 1.
    weekday: usize,
    of_year: u64,
}

impl CalendarDay {
    /// From days since the first of January 1970, a Thursday.
    fn of(n: u64) -> Self {
        let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let (mut year, mut left) = (1970, n);
        while left >= 365 + u64::from(is_leap(year)) {
            left -= 365 + u64::from(is_leap(year));
            year += 1;
        }
        let of_year = left + 1;
        let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let mut month = 0;
        while left >= lengths[month] {
            left -= lengths[month];
            month += 1;
        }
        Self { year, month, of_month: left + 1, weekday: ((n + 3) % 7) as usize, of_year }
    }
}

/// A moment, as `format` has it. Letters that are not known stay as they are.
pub(super) fn written(moment: SystemTime, format: &str) -> String {
    // Beyond the year 9999 nobody has a calendar.
    let secs = moment.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()).min(253_402_300_799);
    let CalendarDay { year, month, of_month, weekday, of_year } = CalendarDay::of(secs / SECS_PER_DAY);
    let (hour, minute, second) = (secs % SECS_PER_DAY / 3600, secs % 3600 / 60, secs % 60);
    let mut out = String::new();
    let mut letters = format.chars().peekable();
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        // The C library of Linux leaves out zeros after a dash.
        let is_short = letters.next_if_eq(&'-').is_some();
        let number = |n: u64, width: usize, out: &mut String| {
            let width = if is_short { 1 } else { width };
            write!(out, "{n:0width$}").ok();
        };
        match letters.next() {
            Some('Y') => number(year, 4, &mut out),
            Some('y') => number(year % 100, 2, &mut out),
            Some('m') => number(month as u64 + 1, 2, &mut out),
            Some('d') => number(of_month, 2, &mut out),
            Some('e') => {
                write!(out, "{of_month:2}").ok();
            }
            Some('j') => number(of_year, 3, &mut out),
            Some('H') => number(hour, 2, &mut out),
            Some('I') => number((hour + 11) % 12 + 1, 2, &mut out),
            Some('M') => number(minute, 2, &mut out),
            Some('S') => number(second, 2, &mut out),
            Some('p') => out.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('B') => out.push_str(MONTHS[month]),
            Some('b' | 'h') => out.push_str(&MONTHS[month][..3]),
            Some('A') => out.push_str(DAYS[weekday]),
            Some('a') => out.push_str(&DAYS[weekday][..3]),
            Some('F') => out.push_str(&written(moment, "%Y-%m-%d")),
            Some('T') => out.push_str(&written(moment, "%H:%M:%S")),
            Some('%') => out.push('%'),
            other => {
                out.push('%');
                out.extend(is_short.then_some('-').into_iter().chain(other));
            }
        }
    }
    out
}
