package machine

import (
	"fmt"
	"io"
	"strings"

	"anesim/firmware/engine"
	"anesim/hw/host"
	"anesim/internal/firmware/broker"
)

// WriteStatistics writes a summary to w: counts of messages and requests, the results of
// each program, and the memory in use.
func (m *Machine) WriteStatistics(w io.Writer) error {
	l, q := m.Ledger(), m.engine.queue.Stats()
	fmt.Fprintf(w, "\nledger: %d received = %d answered + %d refused + %d dropped; %s, %s of the host\n",
		l.Received, l.Answered, l.Refused, l.Dropped, pluralize(l.Notified, "notification"), pluralize(m.mailbox.Window().Stores, "doorbell"))
	fmt.Fprintf(w, "queues: %d submitted, %d finished, %d aborted, %d waiting; %s of descriptors, %s; busy %v of %v\n",
		q.Submitted, q.Finished, q.Aborted, m.engine.queue.Waiting(), pluralize(q.Runs, "run"), pluralize(q.Switches, "switch"), q.Busy, m.engine.queue.Now())
	// Lines on events, time limits and preemption appear only where a script used them: they are all
	// zeros otherwise.
	if n := m.Waiting(); n > 0 || m.engine.dropped > 0 {
		fmt.Fprintf(w, "events: %s waiting, %d dropped while waiting\n", pluralize(n, "request"), m.engine.dropped)
	}
	if t := m.timeline; t.expired+t.closed+t.late > 0 || len(t.open) > 0 {
		closed := ""
		if t.closed > 0 {
			closed = fmt.Sprintf("%d ended by their client, ", t.closed)
		}
		fmt.Fprintf(w, "calls of clients: %d completed, %d timed out, %s%d outstanding; %s dropped\n", t.completed, t.expired, closed, len(t.open), pluralize(t.late, "late completion"))
	}
	if q.Stops > 0 {
		fmt.Fprintf(w, "preemption: %s of descriptors stopped, %v of engine time and %v lost\n", pluralize(q.Stops, "run"), m.engine.lost, m.engine.wasted)
	}
	m.writePower(w)
	for _, slot := range m.Slots() {
		r := m.engine.programs[slot]
		fmt.Fprintf(w, "program %d: %s at %#x, called %s", slot, r.image.name, r.procedures[0].loaded.Address(), pluralize(r.calls, "time"))
		if r.last != nil {
			fmt.Fprintf(w, "; last %d cycles, %v", r.last.Report.Cycles, r.last.Report.Energy)
			for _, o := range r.last.Outputs {
				fmt.Fprintf(w, ", %s crc32 %s", o.Port.Name, engine.Checksum(o.Data))
			}
		}
		fmt.Fprintln(w)
	}
	h := &m.engine.session.Options().Host
	if stages := h.Stages(); stages != nil {
		fmt.Fprint(w, "host, each call:")
		for i, s := range stages {
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(w, "%s %s %.1f us", sep, s.Name, s.Time.Value)
		}
		fmt.Fprintf(w, "\nhost, selector 2: %.1f us from request to completion; the documents measured %.0f us from entry to return\n", h.InSelector(), host.SelectorTime().Value)
	}
	// Only the last write is checked: a writer that failed before fails again.
	_, err := fmt.Fprintf(w, "memory: %d bytes used; user clients: %d; models at the broker: %d\n", m.engine.session.Used(), m.driver.Clients(), countResidentModels(m.broker))
	return err
}

// pluralize returns n followed by the noun in the singular or plural form, such as "2 switches".
func pluralize[N ~int | ~int64 | ~uint | ~uint32 | ~uint64](n N, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func countResidentModels(b *broker.Broker) int {
	n, _ := b.Resident()
	return n
}
