package machine

// A scriptStep is a kind of step in a script.
type scriptStep struct {
	operands int  // minimum number of words after the first
	expects  bool // an error of play means that an expectation was not met
	play     func(p *player, operands []string) error
}

// scriptSteps maps the first word of a step to its kind.
var scriptSteps = map[string]scriptStep{
	"option":   {1, false, (*player).setOption},
	"model":    {2, false, (*player).addModel},
	"client":   {1, false, (*player).addClient},
	"close":    {1, false, func(p *player, operands []string) error { return p.closeClient(operands[0]) }},
	"send":     {2, false, func(p *player, operands []string) error { return p.sendCommand(operands, false) }},
	"post":     {2, false, func(p *player, operands []string) error { return p.sendCommand(operands, true) }},
	"doorbell": {1, false, func(p *player, operands []string) error { return p.ringDoorbell(operands[0]) }},
	"call":     {2, false, (*player).invokeSelector},
	"lease":    {2, false, (*player).leaseModel},
	"ask":      {2, false, (*player).askBroker},
	"raw":      {2, false, (*player).callClientMethod},
	"map":      {2, false, (*player).mapBuffer},
	"lend":     {3, false, (*player).lendProgram},
	"signal":   {2, false, (*player).signalEvent},
	"set":      {3, false, (*player).setInput},
	"hold":     {0, false, (*player).holdRequests},
	"drain":    {0, false, (*player).drainRequests},
	"step":     {0, false, (*player).executeRuns},
	"wait":     {1, false, func(p *player, operands []string) error { return p.waitForTime(operands[0]) }},
	"until":    {1, false, func(p *player, operands []string) error { return p.runUntil(operands[0]) }},
	"expect":   {1, true, (*player).checkExpectation},
}

// callClientMethod carries out the step "raw CLIENT METHOD NUMBERS...", which calls a method that
// has no selector.
func (p *player) callClientMethod(operands []string) error {
	c, err := p.findUser(operands[0])
	if err != nil {
		return err
	}
	return p.callMethodByName(c, operands[1:])
}

// holdRequests makes requests wait in their queues until a step or drain.
func (p *player) holdRequests([]string) error {
	p.machine.Hold(true)
	return nil
}

// drainRequests ends a hold and runs all requests that wait.
func (p *player) drainRequests([]string) error {
	p.machine.Hold(false)
	return p.machine.Drain()
}
