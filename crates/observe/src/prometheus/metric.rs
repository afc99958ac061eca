//! A metric as a row of a table, and a table as a part of an answer.

use std::sync::Arc;
use telemetry::exposition::{Buckets, Kind, Labels, Name, Value, write_buckets, write_head, write_sample};

use http_server::PIECE_LEN;
use http_server::Pieces;

/// A metric of objects of type `V`; `S` is what knows its sum over all of them.
pub(crate) struct Metric<V: 'static, S: 'static = ()> {
    /// Its name, without what comes before it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What it means.
    pub(crate) help: &'static str,
    /// Its value for one object; none where that has none.
    pub(crate) each: fn(&V) -> Option<Value>,
    /// Its value for all of them together; none where there is no such thing.
    pub(crate) sum: fn(&S) -> Option<Value>,
}

/// A metric that never decreases.
pub(crate) const fn counter<V, S>(
    name: &'static str,
    help: &'static str,
    each: fn(&V) -> Option<Value>,
    sum: fn(&S) -> Option<Value>,
) -> Metric<V, S> {
    Metric { name, kind: Kind::Counter, help, each, sum }
}

/// A metric that rises and falls.
pub(crate) const fn gauge<V, S>(
    name: &'static str,
    help: &'static str,
    each: fn(&V) -> Option<Value>,
    sum: fn(&S) -> Option<Value>,
) -> Metric<V, S> {
    Metric { name, kind: Kind::Gauge, help, each, sum }
}

/// A value that is there.
pub(crate) fn some(value: impl Into<Value>) -> Option<Value> {
    Some(value.into())
}

/// What says nothing.
pub(crate) fn nothing<T>(_: &T) -> Option<Value> {
    None
}

/// Metrics of one kind of object.
pub(crate) struct Table<V: 'static, S: 'static = ()> {
    pub(crate) metrics: &'static [Metric<V, S>],
    /// What distinguishes one object from the others.
    pub(crate) labels: fn(&V, &mut Labels<'_>),
}

/// Objects, when all have been found. None: some have, and others have their turn before the next.
pub(crate) type FoundObjects<V> = Option<Arc<Vec<V>>>;

/// What finds objects, asked again and again until it has.
type Find<V> = Box<dyn FnMut() -> FoundObjects<V> + Send>;

/// A table of many objects that is being written: metric by metric, for their series have to be together. The objects are looked up when
/// it begins, and are then as cheap to keep as references.
pub(crate) struct Listing<V: 'static, S: 'static> {
    table: &'static Table<V, S>,
    prefix: &'static str,
    find: Find<V>,
    objects: FoundObjects<V>,
    /// How far it has come.
    metric: usize,
    object: usize,
}

impl<V, S> Listing<V, S> {
    pub(crate) fn new(
        table: &'static Table<V, S>,
        prefix: &'static str,
        find: impl FnMut() -> FoundObjects<V> + Send + 'static,
    ) -> Self {
        Self { table, prefix, find: Box::new(find), objects: None, metric: 0, object: 0 }
    }
}

impl<V: Send + Sync, S> Pieces for Listing<V, S> {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.objects.is_none() {
            self.objects = (self.find)();
        }
        let Some(objects) = &self.objects else { return true };
        while let Some(metric) = self.table.metrics.get(self.metric) {
            let name = Name { prefix: self.prefix, name: metric.name, suffix: "" };
            if self.object == 0 {
                write_head(out, name, metric.kind, metric.help);
            }
            while let Some(object) = objects.get(self.object) {
                self.object += 1;
                if let Some(value) = (metric.each)(object) {
                    write_sample(out, name, |labels| (self.table.labels)(object, labels), value);
                }
                if out.len() >= PIECE_LEN {
                    return true;
                }
            }
            self.metric += 1;
            self.object = 0;
        }
        false
    }
}

/// A histogram of many objects that is being written.
pub(crate) struct Histograms<V: 'static> {
    pub(crate) name: Name<'static>,
    pub(crate) help: &'static str,
    pub(crate) labels: fn(&V, &mut Labels<'_>),
    /// What has been counted; none where nothing has.
    pub(crate) buckets: fn(&V) -> Option<Buckets>,
    pub(crate) objects: Arc<Vec<V>>,
    /// How many are done. None: its head is not.
    pub(crate) done_count: Option<usize>,
}

impl<V: Send + Sync> Pieces for Histograms<V> {
    fn write_next(&mut self, out: &mut Vec<u8>) -> bool {
        if self.done_count.is_none() {
            write_head(out, self.name, Kind::Histogram, self.help);
        }
        let done_count = self.done_count.get_or_insert(0);
        while let Some(object) = self.objects.get(*done_count) {
            *done_count += 1;
            if let Some(buckets) = (self.buckets)(object) {
                write_buckets(out, self.name, |labels| (self.labels)(object, labels), &buckets);
            }
            if out.len() >= PIECE_LEN {
                return true;
            }
        }
        false
    }
}

/// Writes the sums of a table.
pub(crate) fn write_sums<V, S>(out: &mut Vec<u8>, table: &Table<V, S>, prefix: &'static str, sums: &S) {
    for metric in table.metrics {
        let name = Name { prefix, name: metric.name, suffix: "" };
        if let Some(value) = (metric.sum)(sums) {
            write_head(out, name, metric.kind, metric.help);
            write_sample(out, name, |_| (), value);
        }
    }
}

/// Writes a table of few objects.
pub(crate) fn write_each<V, S>(out: &mut Vec<u8>, table: &Table<V, S>, prefix: &'static str, objects: &[V]) {
    for metric in table.metrics {
        let name = Name { prefix, name: metric.name, suffix: "" };
        write_head(out, name, metric.kind, metric.help);
        for object in objects {
            if let Some(value) = (metric.each)(object) {
                write_sample(out, name, |labels| (table.labels)(object, labels), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE: Table<u64, u64> = Table {
        metrics: &[
            gauge("size", "A size", |size| Some((*size).into()), |sum| Some((*sum).into())),
            counter("odd_total", "Odd ones", |size| (size % 2 == 1).then_some(1_u64.into()), nothing),
        ],
        labels: |size, labels| labels.put("of", &size.to_string()),
    };

    fn whole(mut pieces: impl Pieces) -> (String, usize) {
        let (mut text, mut count) = (String::new(), 0);
        loop {
            let mut out = Vec::new();
            let has_more = pieces.write_next(&mut out);
            assert!(out.len() < PIECE_LEN + 200, "a piece has {} bytes", out.len());
            text.push_str(std::str::from_utf8(&out).unwrap());
            count += 1;
            if !has_more {
                return (text, count);
            }
        }
    }

    #[test]
    fn series_of_a_metric_are_together_and_objects_without_a_value_left_out() {
        let (text, _) = whole(Listing::new(&TABLE, "x_", || Some(Arc::new(vec![1, 2]))));
        let expected = "# TYPE x_size gauge\n# HELP x_size A size\nx_size{of=\"1\"} 1\nx_size{of=\"2\"} 2\n\
                        # TYPE x_odd_total counter\n# HELP x_odd_total Odd ones\nx_odd_total{of=\"1\"} 1\n";
        assert_eq!(text, expected);
        let mut out = Vec::new();
        write_each(&mut out, &TABLE, "x_", &[1, 2]);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_sum_that_nobody_knows_is_left_out() {
        let mut out = Vec::new();
        write_sums(&mut out, &TABLE, "x_", &3);
        assert_eq!(String::from_utf8(out).unwrap(), "# TYPE x_size gauge\n# HELP x_size A size\nx_size 3\n");
    }

    #[test]
    fn many_objects_come_in_pieces_and_each_once() {
        let (text, count) = whole(Listing::new(&TABLE, "x_", || Some(Arc::new((0..10_000).collect()))));
        assert!(count > 5, "{count} pieces");
        assert_eq!(text.lines().filter(|line| line.starts_with("x_size{")).count(), 10_000);
        assert_eq!(text.lines().filter(|line| line.starts_with("x_odd_total{")).count(), 5_000);
        assert_eq!(text.lines().filter(|line| line.starts_with('#')).count(), 4);
    }

    #[test]
    fn a_table_without_objects_has_its_heads() {
        let (text, _) = whole(Listing::new(&TABLE, "x_", || Some(Arc::default())));
        assert_eq!(text.lines().count(), 4);
    }
}
