package command

// A Step is one step of the write that notifies the host of a completion.
type Step string

// completionStore lists the steps by which the controller rings the host: a posted write
// inside a window, with interrupts off. Clearing bit 39 of the implementation-defined
// register S3_3_C15_C8_0 opens the window, and setting it closes the window (decompiled).
var completionStore = [...]Step{
	"interrupts off",
	"clear bit 39 of S3_3_C15_C8_0",
	"store the doorbell word to the host's register",
	"barrier",
	"read S3_3_C15_C8_0: bit 1 is an uncorrectable cache error, bit 7 a rejected transaction",
	"set bit 39 of S3_3_C15_C8_0",
	"interrupts on",
}

// Bits of S3_3_C15_C8_0 (decompiled).
const (
	windowClosed   = 1 << 39
	cacheError     = 1 << 1
	rejectedWrite  = 1 << 7
	windowAtRest   = windowClosed
	storeIsRefused = cacheError | rejectedWrite
)

// StoreCommitted reports whether a status read in the window says that the write succeeded,
// that is, bits 1 and 7 are clear.
func StoreCommitted(status uint64) bool { return status&storeIsRefused == 0 }

// A Window models the write of a completion: the host's register, and the controller's
// system register that permits the write.
type Window struct {
	// Trace, if it is not nil, is called after each step with the value of the system
	// register.
	Trace func(s Step, register uint64)
	// Fault, if it is not nil, returns the error bits of a write.
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

// Store writes a doorbell word to the host's register step by step, and reports whether the
// write succeeded. It does nothing and returns false unless the window is at rest.
func (w *Window) Store(word uint32) (committed bool) {
	if !w.AtRest() {
		return false
	}
	for i, s := range completionStore {
		switch i {
		case 0:
			w.masked = true
		case 1:
			w.register &^= windowClosed
		case 2:
			if w.Fault != nil {
				w.register |= w.Fault() & storeIsRefused
			}
			if committed = StoreCommitted(w.register); committed {
				w.Host |= word
			}
		case 4:
			committed = StoreCommitted(w.register)
			w.register &^= storeIsRefused
		case 5:
			w.register |= windowClosed
		case 6:
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
