package command

// A Step is one step of the sequence in which the controller rings the host's doorbell, in words.
type Step string

// Steps by which the controller rings the host: a posted write inside a window, with interrupts off.
// Clearing bit 39 of the implementation-defined register S3_3_C15_C8_0 opens the window, and setting it
// closes the window (decompiled).
const (
	maskInterrupts   Step = "interrupts off"
	openWindow       Step = "clear bit 39 of S3_3_C15_C8_0"
	storeWord        Step = "store the doorbell word to the host's register"
	waitForStore     Step = "barrier"
	readStatus       Step = "read S3_3_C15_C8_0: bit 1 is an uncorrectable cache error, bit 7 a rejected transaction"
	closeWindow      Step = "set bit 39 of S3_3_C15_C8_0"
	unmaskInterrupts Step = "interrupts on"
)

// completionStore lists the steps in their order.
var completionStore = [...]Step{maskInterrupts, openWindow, storeWord, waitForStore, readStatus, closeWindow, unmaskInterrupts}

// Bits of S3_3_C15_C8_0 (decompiled).
const (
	windowClosed   = 1 << 39
	cacheError     = 1 << 1
	rejectedWrite  = 1 << 7
	windowAtRest   = windowClosed
	storeIsRefused = cacheError | rejectedWrite
)

// StoreCommitted reports whether a write through the register window succeeded. The argument status
// is the word read after the write. The write has failed if bit 1 or bit 7 of it is set.
func StoreCommitted(status uint64) bool { return status&storeIsRefused == 0 }

// A Window models the register window through which the controller writes to the host's
// doorbell, and the system register that opens the window.
type Window struct {
	// Trace is called after each step with the value of the system register, if it is not
	// nil.
	Trace func(s Step, register uint64)
	// Fault, if it is not nil, returns error bits for a write, to simulate a failed write.
	Fault func() uint64

	Host             uint32 // host's register, the doorbells it has not handled
	Stores, Rejected uint64 // numbers of writes that succeeded and failed

	register uint64
	masked   bool // interrupts are off
}

// NewWindow returns a closed window with interrupts on.
func NewWindow() *Window { return &Window{register: windowAtRest} }

// AtRest reports whether the window is closed and interrupts are on.
func (w *Window) AtRest() bool { return w.register == windowAtRest && !w.masked }

// Store writes word to the host's doorbell step by step, and reports whether the write
// succeeded. It returns false without writing unless the window is at rest.
func (w *Window) Store(word uint32) (committed bool) {
	if !w.AtRest() {
		return false
	}
	for _, s := range completionStore {
		switch s {
		case maskInterrupts:
			w.masked = true
		case openWindow:
			w.register &^= windowClosed
		case storeWord:
			// The error bits are there from the store on, and a trace shows them, but the controller
			// learns of them only when it reads the register. A failed store does not end the
			// sequence: the window must be closed and interrupts turned on again.
			if w.Fault != nil {
				w.register |= w.Fault() & storeIsRefused
			}
			if committed = StoreCommitted(w.register); committed {
				w.Host |= word
			}
		case waitForStore:
			// This model completes a store at once.
		case readStatus:
			committed = StoreCommitted(w.register)
			w.register &^= storeIsRefused
		case closeWindow:
			w.register |= windowClosed
		case unmaskInterrupts:
			w.masked = false
		}
		if w.Trace != nil {
			w.Trace(s, w.register)
		}
	}
	if committed {
		w.Stores++
	} else {
		w.Rejected++
	}
	return committed
}
