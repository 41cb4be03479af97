package command

import "encoding/binary"

// Sentinels and magic words (decompiled).
const (
	InvalidID     uint32 = 0xffffffff // an unbound program or process
	ChecksumValid uint32 = 0xffffffff // a command's checksum is initialised and valid
	AFPPMagic     uint32 = 0x55aa55aa // an AFPP control struct
)

// MaxProperties is how many properties the controller keeps (assumed: the documents name
// the commands that write and read one and give neither numbers nor their count).
const MaxProperties = 256

// notify sends the host a message of the controller's own.
func (c *Controller) notify(id ID, h Header, n Notice) {
	if c.Notify == nil {
		return
	}
	m := Message{Header: Header{ID: id, Priority: h.Priority, Program: h.Program, Process: h.Process, Procedure: h.Procedure}}
	if info, _ := id.Info(); info.Body != BodyNone {
		m.Body = n.Append(nil)
	}
	if c.Notify(&m) {
		c.ledger.Notified++
	} else {
		c.ledger.Lost++
	}
}

// Ended tells the host that a call which the engine accepted has ended.
func (c *Controller) Ended(h Header, s Status) { c.notify(ProgramEvent, h, Notice{Status: s}) }

// accept refuses a command that the engine did not do, and reports whether it did.
func (c *Controller) accept(s Status, r *Reply, what string) bool {
	if s != OK {
		r.refuse(s, "the engine was not %s", what)
	}
	return s == OK
}

// bare refuses a body where this project's layout has none.
func (c *Controller) bare(m *Message, r *Reply) bool {
	if m.Size > 0 {
		r.refuse(Malformed, "%v has no body, %d bytes came", m.ID, m.Size)
	}
	return m.Size == 0
}

// boot brings the controller up, and one that is suspended back.
func (c *Controller) boot(r *Reply) {
	if c.paused && !c.accept(c.engine.Pause(false), r, "resumed") || !c.accept(c.engine.Boot(), r, "started") {
		return
	}
	c.paused, c.booted = false, true
}

// power switches the device. Off forgets what was loaded, as a reset does.
func (c *Controller) power(on bool, m *Message, r *Reply) {
	if !on {
		c.reset()
		c.notify(CHResetNotification, m.Header, Notice{})
	}
	c.accept(c.engine.Power(on), r, "powered")
}

// reset forgets everything but the ledger.
func (c *Controller) reset() {
	for slot := range int32(MaxPrograms) {
		if c.programs[slot] != nil {
			c.unload(slot)
		}
	}
	if c.paused {
		c.engine.Pause(false)
	}
	if c.secure {
		c.engine.Secure(false)
	}
	clear(c.property)
	*c = Controller{Notify: c.Notify, engine: c.engine, ledger: c.ledger, claimed: -1, programs: c.programs, cache: c.cache, property: c.property}
}

// secureMode enters or leaves secure mode. The program in the header of a start, if there
// is one, has the engine to itself until the stop (ours: the documents say that secure
// mode claims the engine exclusively, and not how the claim names its owner). No
// transition pauses here, so there is never one to resume.
func (c *Controller) secureMode(m *Message, r *Reply) {
	on := m.ID == SecureModeStart
	switch {
	case m.ID == SecureModeResumeTransition:
		r.refuse(WrongState, "no transition of secure mode is paused")
	case on == c.secure:
		r.refuse(WrongState, "secure mode is %t already", on)
	case c.paused:
		r.refuse(WrongState, "the engine is suspended: nothing can run to its end")
	case on && m.Program >= 0 && c.programs[m.Program] == nil:
		r.refuse(NotFound, "no program in slot %d", m.Program)
	default:
		if !c.accept(c.engine.Secure(on), r, "at a secure boundary") {
			return
		}
		c.secure, c.claimed = on, -1
		n := Notice{}
		if on {
			c.claimed, n.Value = m.Program, 1
		}
		c.notify(SecureModeEvent, m.Header, n)
	}
}

// blocked refuses calls that the controller's state does not let through.
func (c *Controller) blocked(m *Message, r *Reply) bool {
	switch {
	case c.paused:
		r.refuse(WrongState, "the engine is suspended")
	case c.claimed >= 0 && m.Program != c.claimed:
		r.refuse(WrongState, "program %d has the engine to itself in secure mode", c.claimed)
	default:
		return false
	}
	return true
}

// prefetch attaches an AFPP to a program, or takes it away. Its body is the magic and the
// address of the control struct (ours).
func (c *Controller) prefetch(m *Message, r *Reply) {
	p := c.find(m, r)
	if p == nil {
		return
	}
	on := m.ID == LoadAFPP
	if !on && !c.bare(m, r) {
		return
	}
	if on {
		if _, err := ReadAFPP(m.Body); err != nil {
			r.fail(err)
			return
		}
	}
	if p.prefetch == on {
		r.refuse(WrongState, "program %d: an AFPP is loaded: %t", m.Program, on)
		return
	}
	p.prefetch = on
}

func (c *Controller) properties(m *Message, r *Reply) {
	p, err := ReadProperty(m.ID, m.Body)
	v, there := c.property[p.Number]
	switch {
	case err != nil:
		r.fail(err)
	case m.ID == CHPropertyRead && !there:
		r.refuse(NotFound, "property %d was never written", p.Number)
	case m.ID == CHPropertyRead:
		r.Body = binary.LittleEndian.AppendUint64(nil, v)
	case !there && len(c.property) == MaxProperties:
		r.refuse(NoRoom, "%d properties are kept", MaxProperties)
	default:
		c.property[p.Number] = p.Value
	}
}

// dataCheck answers whether a command's checksum word is the one that says valid.
func (c *Controller) dataCheck(m *Message, r *Reply) {
	w := reader{b: m.Body, all: len(m.Body)}
	sum := w.u32()
	switch err := w.end(); {
	case err != nil:
		r.fail(err)
	case sum != ChecksumValid:
		r.refuse(Malformed, "checksum word %#x, want %#x", sum, ChecksumValid)
	}
}
