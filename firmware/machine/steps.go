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
	"call":     {2, false, (*player).callSelector},
	"ask":      {2, false, (*player).askBroker},
	"raw":      {2, false, (*player).callRaw},
	"map":      {2, false, (*player).mapBuffer},
	"lend":     {3, false, (*player).lendProgram},
	"signal":   {2, false, (*player).signalEvent},
	"set":      {3, false, (*player).setInput},
	"hold":     {0, false, (*player).hold},
	"drain":    {0, false, (*player).drain},
	"step":     {0, false, (*player).stepRuns},
	"wait":     {1, false, func(p *player, operands []string) error { return p.wait(operands[0]) }},
	"until":    {1, false, func(p *player, operands []string) error { return p.runUntil(operands[0]) }},
	"expect":   {1, true, (*player).expect},
}

// callRaw calls a method of a client by its number: the operands are the client, the method and its
// arguments.
func (p *player) callRaw(operands []string) error {
	c, err := p.findClient(operands[0])
	if err != nil {
		return err
	}
	return p.callMethod(c, operands[1:])
}

// hold lets requests wait in their queues until a step or drain.
func (p *player) hold([]string) error {
	p.machine.Hold(true)
	return nil
}

// drain ends a hold and runs all requests that wait.
func (p *player) drain([]string) error {
	p.machine.Hold(false)
	return p.machine.Drain()
}
