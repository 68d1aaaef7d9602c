//! Whatever is asked of the resolver is read or refused, and every answer is a
//! well-formed answer to what was asked.

#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use zonekeep_network::codec::Step;
use zonekeep_network::dns::{Bad, frame, framed, parse};

fuzz_target!(|message: &[u8]| {
    if let Step::Done(inner, used) = frame(message) {
        assert_eq!(framed(inner), message[..used]);
    }
    let query = match parse(message) {
        Ok(query) => query,
        Err(Bad::Silent) => return,
        Err(Bad::Answer(answer)) => {
            assert!(
                answer[..2] == message[..2] && answer[2] & 0x80 != 0 && answer[3] & 0xf != 0
                    || answer.len() > 12
            );
            assert_eq!(parse(&answer), Err(Bad::Silent));
            return;
        }
    };
    assert!(query.shown.bytes().all(|byte| byte.is_ascii_graphic()));
    if let Some(name) = &query.name {
        assert!(*name == query.shown && !name.is_empty() && name.len() <= 253);
        assert!(name.split('.').all(|label| (1..=63).contains(&label.len())));
    }
    let end = 12 + name_length(&message[12..]) + 4;
    for answer in [
        query.address(Ipv4Addr::LOCALHOST, 1),
        query.empty(),
        query.no_such_name(),
        query.refused(),
        query.failed(),
    ] {
        assert_eq!(answer[..2], message[..2]);
        assert_eq!(answer[12..end], message[12..end]);
        assert!(answer.len() <= 512);
    }
});

fn name_length(mut rest: &[u8]) -> usize {
    let mut length = 1;
    while rest[0] != 0 {
        let label = 1 + usize::from(rest[0]);
        length += label;
        rest = &rest[label..];
    }
    length
}
