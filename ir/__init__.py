"""The program's levels, from the traced graph down to the flat program, and what they share."""
