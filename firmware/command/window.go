package command

// A Step is one step of the store that tells the host of a completion.
type Step string

// completionStore is how the controller rings the host: a posted write inside a window
// that bit 39 of the implementation-defined register S3_3_C15_C8_0 opens by being cleared
// and closes by being set, with interrupts off (decompiled).
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

// StoreCommitted reports whether a status read in the window says that the store went
// through: bits 1 and 7 are clear.
func StoreCommitted(status uint64) bool { return status&storeIsRefused == 0 }

// A Window is what the completion store goes through: the host's register, and the
// controller's system register that opens the way to it.
type Window struct {
	// Trace, where it is not nil, is told each step with the system register after it.
	Trace func(s Step, register uint64)
	// Fault, where it is not nil, gives the bits that the status shows of a store.
	Fault func() uint64

	Host             uint32 // the host's register: doorbells it has not taken
	Stores, Rejected uint64 // stores that went through, and those that did not

	register uint64
	masked   bool // interrupts are off
}

// NewWindow returns a window at rest: closed, with interrupts on.
func NewWindow() *Window { return &Window{register: windowAtRest} }

// AtRest reports whether the window is closed and interrupts are on.
func (w *Window) AtRest() bool { return w.register == windowAtRest && !w.masked }

// Store rings the host: it writes a doorbell word to the host's register, step by step, and
// reports whether the write went through. A window that is open, or whose interrupts are
// off, is in use: nothing is stored.
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
