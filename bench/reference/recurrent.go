package reference

var recurrences = map[string]operator{}
