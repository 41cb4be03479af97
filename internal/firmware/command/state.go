package command

import "encoding/binary"

// Sentinels and magic words (decompiled).
const (
	InvalidID     uint32 = 0xffffffff // an unbound program or process
	ChecksumValid uint32 = 0xffffffff // checksum word of a valid command
	AFPPMagic     uint32 = 0x55aa55aa // magic of an AFPP control struct
)

// MaxProperties is the largest number of properties that the controller stores. The value
// is assumed.
const MaxProperties = 256

// notifyHost sends the host a notification and counts it. The notification has the command id, the
// header h and the body n.
func (c *Controller) notifyHost(id ID, h Header, n Notice) {
	if c.Notify == nil {
		return
	}
	m := Message{Header: Header{ID: id, Priority: h.Priority, Program: h.Program, Process: h.Process, Procedure: h.Procedure}}
	if info, _ := id.Info(); info.Body != BodyNone {
		m.Body = n.append(nil)
	}
	if c.Notify(&m) {
		c.ledger.Notified++
	} else {
		c.ledger.Lost++
	}
}

// Ended notifies the host that the queued call with header h has ended with status s.
func (c *Controller) Ended(h Header, s Status) { c.notifyHost(ProgramEvent, h, Notice{Status: s}) }

// requireStatusOK reports whether s, the status that the engine returned, is OK. If it is not,
// requireStatusOK refuses the command with status s. The reason contains done, a participle for the
// failed operation such as "suspended".
func (c *Controller) requireStatusOK(s Status, r *Reply, done string) bool {
	if s != OK {
		r.refuseWithStatus(s, "engine could not be %s", done)
	}
	return s == OK
}

// requireNoBody reports whether message m has no body. If m has one, it refuses the message.
func (c *Controller) requireNoBody(m *Message, r *Reply) bool {
	if m.Size > 0 {
		r.refuseWithStatus(Malformed, "%v must not have a body; body size is %d", m.ID, m.Size)
	}
	return m.Size == 0
}

// boot boots the controller. If the controller is suspended, boot first resumes the engine.
func (c *Controller) boot(r *Reply) {
	if c.paused && !c.requireStatusOK(c.engine.Pause(false), r, "resumed") || !c.requireStatusOK(c.engine.Boot(), r, "started") {
		return
	}
	c.paused, c.booted = false, true
}

// suspend pauses the engine between two runs of descriptors. It refuses the command if the
// engine is already paused.
func (c *Controller) suspend(r *Reply) {
	if c.paused {
		r.refuseWithStatus(WrongState, "engine is already suspended")
	} else if c.requireStatusOK(c.engine.Pause(true), r, "suspended") {
		c.paused = true
	}
}

// quiesce runs all queued calls to their end. It refuses the command if the engine is
// suspended.
func (c *Controller) quiesce(r *Reply) {
	if c.paused {
		r.refuseWithStatus(WrongState, "engine is suspended and cannot finish calls")
	} else {
		c.requireStatusOK(c.engine.Quiesce(), r, "quiesced")
	}
}

// setPower turns the engine's power on or off. Before it turns the power off, it resets the
// controller and notifies the host of the reset.
func (c *Controller) setPower(on bool, m *Message, r *Reply) {
	if !on {
		c.reset()
		c.notifyHost(CHResetNotification, m.Header, Notice{})
	}
	c.requireStatusOK(c.engine.Power(on), r, map[bool]string{true: "powered on", false: "powered off"}[on])
}

// reset returns the controller to its state before the boot: it unloads all programs and
// clears all properties. Only the counts of messages remain.
func (c *Controller) reset() {
	for slot := range int32(MaxPrograms) {
		if c.programs[slot] != nil {
			c.unloadProgram(slot)
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

// setSecureMode enters or leaves secure mode. A program in the header of the starting command has
// exclusive use of the engine until secure mode ends. This is assumed: the documents say that
// secure mode claims the engine exclusively, but not for whom. Transitions never pause, so none can
// be resumed.
func (c *Controller) setSecureMode(m *Message, r *Reply) {
	on := m.ID == SecureModeStart
	switch {
	case m.ID == SecureModeResumeTransition:
		r.refuseWithStatus(WrongState, "no secure-mode transition is paused")
	case on == c.secure:
		r.refuseWithStatus(WrongState, "secure mode is already %s", map[bool]string{true: "on", false: "off"}[on])
	case c.paused:
		r.refuseWithStatus(WrongState, "engine is suspended and cannot finish calls")
	case on && m.Program >= 0 && c.programs[m.Program] == nil:
		r.refuseWithStatus(NotFound, "program slot %d is empty", m.Program)
	default:
		if !c.requireStatusOK(c.engine.Secure(on), r, "switched to or from secure mode") {
			return
		}
		c.secure, c.claimed = on, -1
		n := Notice{}
		if on {
			c.claimed, n.Value = m.Program, 1
		}
		c.notifyHost(SecureModeEvent, m.Header, n)
	}
}

// refuseIfBlocked refuses message m if the controller's state forbids calls of its program. It
// reports whether it refused.
func (c *Controller) refuseIfBlocked(m *Message, r *Reply) bool {
	switch {
	case c.paused:
		r.refuseWithStatus(WrongState, "engine is suspended")
	case c.claimed >= 0 && m.Program != c.claimed:
		r.refuseWithStatus(WrongState, "program %d has exclusive use of the engine in secure mode", c.claimed)
	default:
		return false
	}
	return true
}

// setPrefetchProgram records whether a program has a prefetch program (AFPP). The command says
// whether it has one from now on or no longer has one.
func (c *Controller) setPrefetchProgram(m *Message, r *Reply) {
	p := c.findProgram(m, r)
	if p == nil {
		return
	}
	on := m.ID == LoadAFPP
	if !on && !c.requireNoBody(m, r) {
		return
	}
	if on {
		if _, err := readAFPP(m.Body); err != nil {
			r.refuseForError(err)
			return
		}
	}
	switch {
	case on && p.prefetch:
		r.refuseWithStatus(WrongState, "program %d already has a prefetch program", m.Program)
		return
	case !on && !p.prefetch:
		r.refuseWithStatus(WrongState, "program %d has no prefetch program", m.Program)
		return
	}
	p.prefetch = on
}

func (c *Controller) handleProperty(m *Message, r *Reply) {
	p, err := readProperty(m.ID, m.Body)
	v, there := c.property[p.Number]
	switch {
	case err != nil:
		r.refuseForError(err)
	case m.ID == CHPropertyRead && !there:
		r.refuseWithStatus(NotFound, "property %d was never written", p.Number)
	case m.ID == CHPropertyRead:
		r.Body = binary.LittleEndian.AppendUint64(nil, v)
	case !there && len(c.property) == MaxProperties:
		r.refuseWithStatus(NoRoom, "all %d properties are in use", MaxProperties)
	default:
		c.property[p.Number] = p.Value
	}
}

// requireValidChecksum refuses the message unless its body is the single word ChecksumValid.
func (c *Controller) requireValidChecksum(m *Message, r *Reply) {
	w := reader{b: m.Body, all: len(m.Body)}
	sum := w.readUint32()
	switch err := w.finishBody(); {
	case err != nil:
		r.refuseForError(err)
	case sum != ChecksumValid:
		r.refuseWithStatus(Malformed, "checksum word is %#x; want %#x", sum, ChecksumValid)
	}
}
