package lower

// Fitted is fitted for tests outside of the package: those that run programs import the
// root package, which imports this one.
var Fitted = fitted
