from django import forms

MAX_DAYS = 365


class TokenForm(forms.Form):
    days = forms.IntegerField(label="Valid for (days)", min_value=1, max_value=MAX_DAYS, initial=30)
