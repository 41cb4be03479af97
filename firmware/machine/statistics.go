package machine

import (
	"fmt"
	"io"

	"anesim/firmware/broker"
	"anesim/firmware/engine"
)

// WriteStatistics writes a summary to w: counts of messages and requests, the results of
// each program, and the memory in use.
func (m *Machine) WriteStatistics(w io.Writer) error {
	l, q := m.Ledger(), m.engine.queue.Stats()
	fmt.Fprintf(w, "\nledger: %d received = %d answered + %d refused + %d dropped; %d notifications, %d doorbells of the host\n",
		l.Received, l.Answered, l.Refused, l.Dropped, l.Notified, m.mailbox.Window().Stores)
	fmt.Fprintf(w, "queues: %d submitted, %d finished, %d aborted, %d waiting; %d runs of descriptors, %d switches; busy %v of %v\n",
		q.Submitted, q.Finished, q.Aborted, m.engine.queue.Waiting(), q.Runs, q.Switches, q.Busy, m.engine.queue.Now())
	if n := m.Waiting(); n > 0 || m.engine.dropped > 0 {
		fmt.Fprintf(w, "events: %d requests wait, %d were dropped while they did\n", n, m.engine.dropped)
	}
	for _, slot := range m.Slots() {
		r := m.engine.programs[slot]
		fmt.Fprintf(w, "program %d: %s at %#x, called %d times", slot, r.image.name, r.procedures[0].loaded.Address(), r.calls)
		if r.last != nil {
			fmt.Fprintf(w, "; last %d cycles, %v", r.last.Report.Cycles, r.last.Report.Energy)
			for _, o := range r.last.Outputs {
				fmt.Fprintf(w, ", %s crc32 %s", o.Port.Name, engine.Checksum(o.Data))
			}
		}
		fmt.Fprintln(w)
	}
	if stages := m.engine.session.Options().Host.Stages(); stages != nil {
		fmt.Fprint(w, "host, each call:")
		for i, s := range stages {
			sep := ","
			if i == 0 {
				sep = ""
			}
			fmt.Fprintf(w, "%s %s %.1f us", sep, s.Name, s.Time.Value)
		}
		fmt.Fprintln(w)
	}
	_, err := fmt.Fprintf(w, "memory: %d bytes used; user clients: %d; models at the broker: %d\n", m.engine.session.Used(), m.driver.Clients(), residentModels(m.broker))
	return err
}

func residentModels(b *broker.Broker) int {
	n, _ := b.Resident()
	return n
}
