//! Flame graphs of invented profiles, for `tests/browser`: `sample_flames FOLDER`.

use profile::{Cost, Diff, Frame, Profile, Unit, svg};

fn main() -> std::io::Result<()> {
    let folder = std::path::PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    std::fs::create_dir_all(&folder)?;
    let cpu = cpu("before", 1);
    let later = self::cpu("after", 4);
    std::fs::write(folder.join("cpu.svg"), svg::flame_graph(&cpu))?;
    std::fs::write(folder.join("wall.svg"), svg::flame_graph(&wall()))?;
    std::fs::write(folder.join("diff.svg"), svg::flame_diff(&Diff { before: &cpu, after: &later }))?;
    std::fs::write(folder.join("empty.svg"), svg::flame_graph(&Profile::new("nothing", Unit::Nanoseconds)))
}

fn cpu(title: &str, hashes: u64) -> Profile {
    let mut profile = Profile::new(title, Unit::Samples { period_ns: 10_101_010 });
    profile.note("0.02 % of the processor time was the profile's own");
    let start = [Frame::thread("warren-0"), Frame::label("connection"), Frame::work("tokio::run")];
    let routes = Frame::work("<routing::Exchange<'_> as Route>::route & \"more\"");
    for number in 0..40 {
        let leaf = Frame::work(&format!("broker::channel::function_{number}"));
        profile.add(&[start.as_slice(), &[routes.clone(), leaf]].concat(), Cost { weight: number, calls: 0 });
    }
    profile.add(&[start.as_slice(), &[Frame::work("hash")]].concat(), Cost { weight: 200 * hashes, calls: 0 });
    profile.add(&[Frame::thread("journal"), Frame::work("commit")], Cost { weight: 100, calls: 0 });
    profile
}

fn wall() -> Profile {
    let mut profile = Profile::new("GET /api/queues", Unit::Nanoseconds);
    let listing = [Frame::work("list_queues")];
    profile.add(&listing, Cost { weight: 1_200_000, calls: 3 });
    let lock = Frame::waiting("lock vhost.topology, held by import_definitions");
    profile.add(&[listing.as_slice(), &[lock]].concat(), Cost { weight: 40_000_000, calls: 3 });
    profile
}
