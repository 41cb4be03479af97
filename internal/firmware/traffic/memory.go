package traffic

import (
	"fmt"

	"anesim/internal/firmware/broker"
	"anesim/loader"
)

// A Memory says how much memory the models of the clients that ask the broker need.
type Memory struct {
	Models   int    // models in memory; clients that call the same one share it
	Adapters int    // instances with weights of their own
	Bytes    uint64 // of all models and adapters
	// Wired is the part of the models' bytes that stays wired while no request is pending, because a
	// client keeps it so.
	Wired uint64
}

// isBrokered reports whether the client asks the broker for its calls.
func (c *ScriptClient) isBrokered() bool {
	return c.QoS != "" || c.QueueDepth > 0 || c.AdapterOf != "" || c.KeepWired
}

// countMemory opens the models of the brokered clients, and of the clients whose models they adapt, at
// a broker, as clients of one identity.
func (l *Outcome) countMemory() (m Memory, err error) {
	s := l.Script
	b := broker.New()
	base := make([]bool, len(s.Clients)) // a client adapts this one's model
	any := false
	for i := range s.Clients {
		c := &s.Clients[i]
		any = any || c.isBrokered()
		if c.AdapterOf == "" {
			continue
		}
		k := s.clientIndexBefore(i, c.AdapterOf)
		if k < 0 {
			return m, c.wrapError(fmt.Errorf(`unknown client %q in "adapter_of"; want an earlier client`, c.AdapterOf))
		}
		base[k] = true
	}
	// Without a broker, memory is the driver's and no part of the report.
	if !any {
		return m, nil
	}
	for i := range s.Clients {
		c := &s.Clients[i]
		if !c.isBrokered() && !base[i] {
			continue
		}
		// All are one identity with all rights, because a load asks what is shared, not who may share it.
		user, err := b.Connect(c.Name, broker.Identity{}, broker.Unrestricted, broker.Default, broker.Allow, broker.ModelShare, broker.AdapterWeight)
		if err != nil {
			return m, c.wrapError(err)
		}
		o := broker.InstanceOptions{PowerSaving: true, KeepWired: c.KeepWired, QueueDepth: c.QueueDepth}
		key := fmt.Sprint(c.Model, "|", c.Dim, "|", c.Layer)
		if c.AdapterOf != "" {
			m.Adapters++
			_, err = user.OpenAdapter(key, c.Name, c.AdapterBytes, o)
		} else {
			_, err = user.Open(key, programBytes(l.Alone[i].Program), o)
		}
		if err != nil {
			return m, c.wrapError(err)
		}
	}
	m.Models, m.Bytes = b.Resident()
	// Adapters' weights are never wired: the broker counts only models as idle or not.
	models := m.Bytes
	for i := range s.Clients {
		models -= s.Clients[i].AdapterBytes
	}
	m.Wired = models - b.Idle()
	return m, nil
}

// programBytes returns the size of a program's segments in memory.
func programBytes(p *loader.Program) (bytes uint64) {
	for i := range p.Segments {
		if s := &p.Segments[i]; s.Prot != 0 {
			bytes += s.Size
		}
	}
	return bytes
}
